"""E2SM-TC v1 in front of a node that speaks v0 alone.

- `v0`: the one pipeline of a v0 node, and what each v0 control does to it.
- `say`: a v1 pipeline in the words of v0, or why there are none.
- `plan`: the v0 controls that lead from one pipeline to another.
- `stages`: which of them may be on the way at once.
- `edits`: a v1 delta applied to a pipeline.
- `lift`: a v0 indication as v1 pipeline status.
- `ledger`: revision, name and lease of a node's pipeline, which v0 does not know.
- `front`: the RAN function itself; puts the others together.
- `rehearsal`: a transaction of nobody, so that the first of somebody is as fast as the next.

All but `front` and `rehearsal` are pure: values in, values out. Messages are the JSON shapes of
`e2sm_tc`.
"""
