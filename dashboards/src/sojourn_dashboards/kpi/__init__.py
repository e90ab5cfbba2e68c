"""`ric report`: what control gained, from the series of a Prometheus, for each site.

`totals` reads and adds up, `measures` has the figures and their names in TS 28.552, `files` writes
page and table, `command` is the subcommand.
"""
