"""What the laws of control are tried in: a gNB, policies, a network, processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tc_controller.core.act.ownership import node_lease_us
from tc_controller.core.controller import Controller
from tc_controller.core.policy.schema import Policy
from tc_controller.policy_file import parse_policy

SCENARIO = Path(__file__).parents[3] / "lab" / "scenarios" / "default.yaml"
STEP_US = 5_000
CONTROL_TIMEOUT_US = 1_000_000
#: Longest one-way delay in a quiet time.
QUIET_DELAY_US = 20_000
NAMES = ("a", "b")
EPOCH_US = 1_767_225_600_000_000

_REPORTS = "version: 1\nreports: {rlc_period_ms: 10, pipeline_period_ms: 50}\n"
_LEASE = "lease_ms: 3000, cool_down_ms: 1000"
POLICIES = tuple(
    parse_policy(_REPORTS + rule)
    for rule in (
        f"rules: [{{name: r, base: [{{template: low_latency}}], enforce: {{{_LEASE}}}}}]\n",
        f"rules: [{{name: r, base: [{{template: fq_codel}}], enforce: {{{_LEASE}}}}}]\n",
        "rules: [{name: r, base: [{template: low_latency}], "
        f"enforce: {{{_LEASE}, keep_base_without_controller: false}}}}]\n",
        f"rules: [{{name: r, ladder: [{{template: bdp_only}}, {{template: fq_codel}}], "
        f"objective: {{bound_ms: 20}}, enforce: {{{_LEASE}}}}}]\n",
    )
)


def cell(seed: int) -> dict[str, Any]:
    """Three UEs, of which one comes and one goes; a ping and some load for each."""

    def ue(rnti: int, **keys: float) -> dict[str, Any]:
        drbs = [{"id": 1, "rlc": {"mode": "um", "limit_bytes": 200_000}}]
        return {"rnti": rnti, "channel": {"fixed_mcs": 10}, "drbs": drbs, **keys}

    load = {"kind": "udp_cbr", "rnti": "each", "rate_kbps": 2_000, "packet_bytes": 1_200}
    return {
        "seed": seed,
        "cell": {"rat": "nr", "n_prb": 25, "scs_khz": 15},
        "ues": [ue(0x4601), ue(0x4602, leave_at_s=12.0), ue(0x4603, join_at_s=4.0)],
        "flows": [
            {"name": "ping", "kind": "ping", "rnti": "each", "interval_ms": 50},
            {"name": "load", **load},
            {"name": "burst", **load, "rate_kbps": 6_000, "start_s": 3.0, "stop_s": 8.0},
        ],
    }


class LawBrokenError(AssertionError):
    """A law does not hold."""


@dataclass
class Weather:
    """What the network does to a message."""

    delay_us: int = QUIET_DELAY_US
    loss: float = 0.0


@dataclass
class Process:
    """One controller and what is around it."""

    name: str
    core: Controller | None = None
    policy: Policy = POLICIES[0]
    #: Stopped as by SIGSTOP: what arrives waits.
    stopped: bool = False
    waiting: list[Callable[[], None]] = field(default_factory=list)
    connected: bool = False
    #: Number of its present process; messages of an earlier one are lost.
    life: int = 0
    saved: str | None = None


BASES = frozenset({"low_latency", "fq_codel"})
#: Longest time between the end of the faults and a node with an owner and its bearers' pipelines:
#: what is on its way, a node lease, the next request, lost answers, a transaction with its retries.
HEALING_S = 0.7 + node_lease_us(POLICIES[0]) / 1e6 * 4 / 3 + 3 * CONTROL_TIMEOUT_US / 1e6 + 4.0
