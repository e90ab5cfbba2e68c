"""Work done at the start so that the first decision is as fast as the later ones.

Python, NumPy, the codec and gRPC initialise themselves at first use: together some ms, which would
delay the first decision.
"""

from __future__ import annotations

import contextlib
import gc
from typing import Any

from ric.errors import ServiceModelError
from ric.sm import rlc, tc

from tc_controller.core.actions import SendControl
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Accepted, Ie, NodeUp, RlcReport
from tc_controller.core.policy.schema import Policy

#: Above every bound a policy may set, µs.
_BLOATED_US = 100_000_000


def rehearse(policy: Policy) -> int:
    """Run a scratch controller through a violation; returns the controls it would have sent.

    Then exclude the objects that exist by now from garbage collection.
    """
    scratch = Controller(policy, id_prefix="rehearsal")
    for action in scratch.on_node_event(0, NodeUp("rehearsal", {"node_lease": True})):
        if isinstance(action, SendControl):
            tc.encode("control", action.message)
            scratch.on_control_answer(0, action.control_id, Accepted(1, 1_000_000))
    rows = rlc.zeros(1)
    rows["rnti"], rows["rbid"] = 1, 1
    rows["txsdu_wt_us"] = rows["txsdu_avg_time_to_tx"] = _BLOATED_US
    sent = 0
    period_us = policy.reports.rlc_period_ms * 1000
    for number in range(1, 400):
        at_us = number * period_us
        rows["txpdu_bytes"] += 5_000
        report = RlcReport("rehearsal", at_us, rlc.encode(rows, at_us))
        for action in scratch.on_indication(at_us, report):
            if isinstance(action, SendControl):
                sent += 1
                with contextlib.suppress(ServiceModelError):
                    tc.encode("control-header", action.header)
                    tc.encode("control", action.message)
                scratch.on_control_answer(at_us, action.control_id, Accepted(sent, None))
    gc.collect()
    gc.freeze()
    return sent


def probe(bearer: Ie, owner: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and message of a dry-run control: the node checks and answers it but changes nothing.
    It shows whether controls get through, and sets up their connection."""
    message = {
        "transaction": {
            "bearer": bearer,
            "expected_revision": None,
            "lease_ms": None,
            "owner": owner,
            "dry_run": True,
            "as_safe": False,
            "change": "safe",
        }
    }
    return {"style": 1, "correlation_id": 0}, message
