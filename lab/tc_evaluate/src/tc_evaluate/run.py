"""One run: a situation under one arm, measured from its first second to its last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from ric.sm import tc
from tc_controller.core.controller import Controller
from tc_controller.core.policy.compile import CLASSES
from tc_controller.core.policy.rung import CHOSEN
from tc_controller.policy_file import load_policy

from tc_evaluate.axes import SPARSE, Measures, measures
from tc_evaluate.errors import EvaluationError
from tc_evaluate.lockstep import Lockstep
from tc_evaluate.situation import Situation

if TYPE_CHECKING:
    from gnb_lab import World

#: Not a dependency: the emulated gNB is built, not installed from a registry.
LAB: Final = "gnb_lab"
CONTROLLER: Final = "controller"
NONE: Final = "none"
#: The pipeline of a gNB that nobody configured: one FIFO, no pacer.
UNCONTROLLED: Final = "transparent"
#: A ping above this is bloat.
_BLOAT_US: Final = 100_000
#: Version of a result's content; results of another version are made again.
_VERSION: Final = 2


def static_arms() -> list[str]:
    """The templates that need no knowledge of the flows; each is an arm."""
    not_alone = {*CHOSEN, CLASSES, UNCONTROLLED}
    return [name for name in tc.templates() if name not in not_alone]


@dataclass(frozen=True, slots=True)
class Task:
    """A run to be made. Without ``policy`` the arm is a template, or `NONE`."""

    situation: Situation
    seed: int
    arm: str
    policy: Path
    policy_digest: str

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What a result must have to be this run's."""
        policy = self.policy_digest if self.arm == CONTROLLER else ""
        inputs = f"{_VERSION}-{self.situation.digest}{policy}"
        return (self.situation.name, self.seed, self.arm, inputs)


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave; one line of the result file."""

    situation: str
    seed: int
    arm: str
    #: Payload of all flows but pings, over the whole run.
    goodput_mbps: float
    #: Round trip of all pings of all UEs; one without reply counts as old as it is at the end.
    ping_p95_ms: float
    #: Time in which a ping was above 100 ms, or had no reply for as long; mean over ping flows.
    bloat_s: float
    #: Goodput over delay (Giessler et al. 1978), Mbit/s per ms.
    power: float
    transactions: int
    rollbacks: int
    #: Identifies scenario, policy and version of the result.
    inputs: str
    #: Absent in results of an earlier version.
    measures: Measures | None = None

    @property
    def key(self) -> tuple[str, int, str, str]:
        """See `Task.key`."""
        return (self.situation, self.seed, self.arm, self.inputs)

    @property
    def lost_pings(self) -> float:
        """Pings of all UEs that did not arrive; NaN if the result has no measures."""
        if self.measures is None:
            return math.nan
        return float(sum(one.lost_packets for one in self.measures.flows if one.kind in SPARSE))

    def as_dict(self) -> dict[str, Any]:
        """The result as its file holds it."""
        return asdict(self)


def world_of(situation: Situation, pipeline: str, seed: int) -> World:
    """The gNB of a situation, with this template on every bearer.

    Raises:
        EvaluationError: the lab refuses the scenario.
    """
    gnb_lab = import_module(LAB)
    overrides = situation.with_pipeline(pipeline, seed)
    try:
        world: World = gnb_lab.World(situation.scenario.source, overrides=overrides)
    except gnb_lab.ScenarioError as error:
        raise EvaluationError(situation.scenario.complaint(str(error))) from error
    return world


def execute(task: Task) -> Result:
    """Make a run.

    Raises:
        EvaluationError: the scenario or the policy cannot be used.
    """
    situation = task.situation
    pipeline = UNCONTROLLED if task.arm in (NONE, CONTROLLER) else task.arm
    world = world_of(situation, pipeline, task.seed)
    transactions = rollbacks = 0
    if task.arm == CONTROLLER:
        lockstep = Lockstep(world, Controller(load_policy(task.policy)))
        lockstep.run(situation.duration_s)
        transactions, rollbacks = lockstep.transactions, len(lockstep.events("rolled_back"))
    else:
        world.step_until(round(situation.duration_s * 1e6))
    flows = world.flows()
    end_us = world.now_us
    pings = [
        _round_trips_us(world, flow["name"], end_us) for flow in flows if flow["kind"] == "ping"
    ]
    downlink = [flow for flow in flows if flow["kind"] != "ping" and flow["direction"] == "down"]
    bits = sum(flow["goodput_bytes"] * 8 for flow in downlink)
    goodput_mbps = bits / end_us
    p95_ms = _p95_ms(np.concatenate(pings)) or 0.0
    each_p95_ms = [p95 for p95 in map(_p95_ms, pings) if p95 is not None]
    return Result(
        situation=situation.name,
        seed=task.seed,
        arm=task.arm,
        goodput_mbps=round(goodput_mbps, 6),
        ping_p95_ms=round(p95_ms, 3),
        bloat_s=round(_bloat_s(pings, end_us), 3),
        power=round(goodput_mbps / p95_ms, 6) if p95_ms else 0.0,
        transactions=transactions,
        rollbacks=rollbacks,
        inputs=task.key[-1],
        measures=measures(world.summary(), goodput_mbps, each_p95_ms),
    )


def _round_trips_us(world: World, flow: str, end_us: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    answered = [rtt_us for _, rtt_us in world.rtt_samples_us(flow)]
    ages = [end_us - sent_us for sent_us in world.unanswered_pings_us(flow)]
    return np.array(answered + ages, np.int64)


def _p95_ms(round_trips_us: np.ndarray[Any, np.dtype[np.int64]]) -> float | None:
    if not round_trips_us.size:
        return None
    return float(np.percentile(round_trips_us, 95, method="higher")) / 1e3


def _bloat_s(pings: Sequence[np.ndarray[Any, np.dtype[np.int64]]], end_us: int) -> float:
    """Share of each flow's pings above the limit, over the time of the run."""
    shares = [float((ping > _BLOAT_US).mean()) for ping in pings if ping.size]
    return float(np.mean(shares)) * end_us / 1e6 if shares else 0.0
