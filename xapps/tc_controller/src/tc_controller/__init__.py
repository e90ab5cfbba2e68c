"""tc_controller: the xApp that keeps bearers within their sojourn objective.

`core` decides; `app` connects it to the E2 gateway (`nodes`, `reports`, `actuator`); `cli` is the
program. `policy_file` and `policy_source` read the policy; `decision_log` and `explain` record and
explain decisions; `states` prints the life of a bearer; `latency` and `metrics` measure the loop.
"""

from tc_controller.core.controller import Controller
from tc_controller.core.policy.schema import Policy
from tc_controller.policy_file import PolicyError, load_policy, parse_policy

__all__ = ["Controller", "Policy", "PolicyError", "load_policy", "parse_policy"]
