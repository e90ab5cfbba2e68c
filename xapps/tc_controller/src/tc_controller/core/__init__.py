"""The controller's pure core: no I/O, no clock, no log (import-linter enforces it).

A package knows those below it alone (import-linter enforces that, too):

- `controller`: reports in (`inputs`), actions out (`actions`)
- `conflicts`: what contradicts itself in a policy
- `ladder`: templates that are tried where a base does not meet the objective
- `trials`: what a base is worth, measured
- `node`: one E2 node, its bearers and its faults
- `bearer`: one bearer under control: its states, guards and effects
- `report`: records of the decision log, counters for the metrics
- `verify`: what bearers get, against what they are promised
- `act`: which base, transactions, leases, desired pipelines
- `observe`: windows and views of the reports
- `policy`: the policy file and what it compiles to

With a policy of bases alone, as the default is, no code of `ladder` and `trials` decides anything:
`controller` hands both to a node, which knows them as `node.strategies` alone.
"""
