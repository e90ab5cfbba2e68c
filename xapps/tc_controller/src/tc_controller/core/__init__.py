"""The controller's pure core: no I/O, no clock, no log (import-linter enforces it).

A package knows those below it alone (import-linter enforces that, too):

- `controller`: reports in (`inputs`), actions out (`actions`); `quiet`: many reports at once
- `conflicts`: what contradicts itself in a policy
- `node`: one E2 node, its bearers and its faults
- `trials`: what a base is worth, measured
- `bearer`: the states of a bearer under control, its guards and effects
- `report`: records of the decision log, counters for the metrics
- `verify`: what bearers get, against what they are promised
- `act`: which pipeline, transactions, leases, desired pipelines
- `observe`: windows and views of the reports
- `policy`: the policy file and what it compiles to
"""
