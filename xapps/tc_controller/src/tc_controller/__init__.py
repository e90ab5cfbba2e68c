"""tc_controller: the xApp that keeps bearers within their sojourn objective.

Where to look:

- `controller`: the pure core, reports in and actions out (`inputs`, `actions`)
- `observe`, `utilisation`, `inventory`, `pipeline_view`: what is known of a bearer (`look`)
- `detect`, `predict`: when its objective is violated, or will be
- `decide`, `ladder`, `templates`: what to try next, as an E2SM-TC pipeline
- `act`, `verify`, `reconcile`, `bearer`: sending it, judging it, keeping it, taking it back
- `policy`, `policy_file`, `select`: what the operator demands of which bearers
- `app`, `cli`, `settings`: the shell around it; `decision_log`, `explain`: its memory for people
"""

from tc_controller.actions import Action, SaveDesired, SendControl, WriteRecord
from tc_controller.controller import Controller
from tc_controller.inputs import BearerKey
from tc_controller.policy import Policy
from tc_controller.policy_file import PolicyError, load_policy, parse_policy
from tc_controller.reconcile import StateError

__all__ = [
    "Action",
    "BearerKey",
    "Controller",
    "Policy",
    "PolicyError",
    "SaveDesired",
    "SendControl",
    "StateError",
    "WriteRecord",
    "load_policy",
    "parse_policy",
]
