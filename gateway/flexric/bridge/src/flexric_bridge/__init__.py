"""FlexRIC as an E2 gateway: a sidecar whose one child process owns FlexRIC's SDK.

`flexric_bridge.sdk` is the interface to that SDK.

Modules:

- `app`, `cli`, `settings`, `metrics`, `collector`: the program.
- `gateway`: the gRPC service; `readers`, `records`: the indications it sends.
- `nodes`, `discovery`: nodes that connect and disconnect.
- `hub`, `subscription`, `freshness`: shared subscriptions, and whether nodes report in time.
- `controls`, `budget`: the queue of controls, and the RIC's request budget.
- `traffic_control`, `tc`: E2SM-TC v1 in front of nodes that have v0 alone.
- `session`, `child_process`, `frames`, `child`: the process that owns the SDK.
"""

import os

# The child is a new program: gRPC need not prepare for a fork, nor warn that it cannot.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
