"""E2SM-TC v1 in front of a node that has v0 alone. `e2sm_tc.v0` translates between them.

- `messages`: v1 messages of the RAN function.
- `bearer`: the bearer of the one pipeline of a v0 node.
- `in_force`: revision, lease and owner of a node's pipeline, which v0 does not have.
- `node_lease`: which client of the bridge controls the node.
- `transition`: from one pipeline to another by v0 controls, undone where the node refuses one.
- `stub`: detects TC functions that invent their reports.
- `ran_function`: the RAN function, composed of these.
- `warm_up`: a transaction without a node, so that the first real one is as fast as the next.
"""
