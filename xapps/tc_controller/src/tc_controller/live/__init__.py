"""The live page: nodes and bearers, worst first, over the last minutes; read-only.

`history` and `ranking` are filled once a second, `rows` and `detail` describe the controller in the
words of `explain`, `feed` finds what changed, `server` sends it to the browsers that watch. `fleet`
asks other controllers and sites, `fleet_view` is what these say, and joins it.
"""
