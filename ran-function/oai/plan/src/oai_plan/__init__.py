"""An operator's trees of OpenAirInterface and FlexRIC: do they fit, and what is to be built.

`oai_plan.check` (`make oai-check`) needs Python alone and reads declarations, so that a fresh clone
can be checked before anything is built.
"""
