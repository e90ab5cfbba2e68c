"""The controller's pure core: no I/O, no clock, no log (import-linter enforces it).

- `controller`: reports in (`inputs`), actions out (`actions`); `node`: one E2 node
- observe: `rlc_windows`, `drain_history`, `prb_window`, `inventory`, `pipeline_view`, `bearer_view`
- `detect`: violations of the objective, measured or forecast
- `policy`, `ladder`, `decide`: which pipeline to try next
- `lifecycle`: the states of a bearer; `bearer` turns reports and answers into its events,
  `bearer_state` and `effects` are its guards and effects, `timers` its waits
- `act`, `verify`, `reconcile`: transactions, verdicts, desired pipelines
- `records`: decisions for the decision log, counters for the metrics
"""
