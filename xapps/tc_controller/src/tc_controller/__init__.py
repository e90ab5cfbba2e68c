"""tc_controller: the xApp that keeps bearers within their sojourn objective.

`core` decides; `app` feeds it reports of the E2 gateway and sends what it wants sent; `cli` is the
program. `policy_file` reads the policy, `decision_log` and
`explain` are its memory for people, `latency` and `metrics` say how fast and how well it works.
"""

from tc_controller.core.controller import Controller
from tc_controller.core.policy import Policy
from tc_controller.policy_file import PolicyError, load_policy, parse_policy

__all__ = ["Controller", "Policy", "PolicyError", "load_policy", "parse_policy"]
