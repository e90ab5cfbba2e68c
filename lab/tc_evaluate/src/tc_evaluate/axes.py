"""What a run is judged by: several axes, for one number hides what another pays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Flows that measure; all others carry payload.
SPARSE: Final = frozenset({"ping"})
#: Flows that drops and queues do not slow; those with a deadline are judged by it.
INELASTIC: Final = frozenset({"voip", "call", "game", "cloud_game", "udp_cbr", "host"})
#: Worse than this share on another axis is no bargain.
TOLERANCE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Axis:
    """A measure of a run by which arms are compared."""

    #: Field of `Measures`.
    name: str
    #: Column of tables.
    label: str
    higher_is_better: bool
    #: Differences up to this are none, and less than this is not better than it.
    resolution: float

    def ratio(self, better: float, worse: float) -> float:
        """How many times better the first value is than the second; below 1 if it is worse."""
        if abs(better - worse) <= self.resolution:
            return 1.0
        if self.higher_is_better:
            better, worse = worse, better
        least = max(self.resolution, 1e-9)
        return max(worse, least) / max(better, least)


#: The resolution of delays, 2 ms, is less than anybody feels and more than two runs differ by.
AXES: Final = (
    Axis("goodput_mbps", "Mbit/s", higher_is_better=True, resolution=0.0),
    Axis("bulk_p95_ms", "bulk ms", higher_is_better=False, resolution=2.0),
    Axis("sparse_p95_ms", "sparse ms", higher_is_better=False, resolution=2.0),
    Axis("late_pct", "late %", higher_is_better=False, resolution=0.5),
    Axis("rpm", "RPM", higher_is_better=True, resolution=0.0),
    Axis("loaded_rpm", "loaded", higher_is_better=True, resolution=0.0),
    Axis("worst_bearer_p95_ms", "bearer ms", higher_is_better=False, resolution=2.0),
    Axis("transient_s", "slow s", higher_is_better=False, resolution=1.0),
)


@dataclass(frozen=True, slots=True)
class FlowMeasures:
    """One flow of a run."""

    name: str
    kind: str
    rnti: int
    drb: int
    goodput_mbps: float
    #: Own queueing, from SDAP ingress to the last byte at the MAC; 0 without a packet.
    queuing_p50_ms: float
    queuing_p95_ms: float
    queuing_p99_ms: float
    lost_packets: int
    #: Frames or packets that missed their deadline; absent without deadlines.
    late_pct: float | None


@dataclass(frozen=True, slots=True)
class Measures:
    """The axes of a run; an axis is absent where the situation has no flow of its kind."""

    #: Payload of all downlink flows but pings, over the whole run.
    goodput_mbps: float
    #: Own queueing of the elastic flow that waits longest, 95th percentile.
    bulk_p95_ms: float | None
    #: Round trips of the ping flow that waits longest, 95th percentile.
    sparse_p95_ms: float | None
    #: Missed deadlines of the inelastic flow that misses most.
    late_pct: float | None
    #: Round trips per minute of the slowest responsiveness test.
    rpm: float | None
    #: Its half on the loading connection.
    loaded_rpm: float | None
    #: Time in the gNB of the bearer that waits longest, 95th percentile.
    worst_bearer_p95_ms: float | None
    #: Seconds in which packets of the flow with most of them waited above 100 ms on average.
    transient_s: float
    #: Geometric mean over flows of goodput over p95 of one-way delay, Mbit/s per ms.
    power_of_all: float
    #: RNTI/DRB.
    worst_bearer: str
    worst_bulk_flow: str
    flows: tuple[FlowMeasures, ...]


def measures(
    summary: Mapping[str, Any], goodput_mbps: float, sparse_p95_ms: Iterable[float]
) -> Measures:
    """The axes of a run.

    Args:
        summary: of `gnb_lab.World.summary`.
        sparse_p95_ms: of each ping flow; pings without reply are in it.
    """
    flows = [_flow(flow) for flow in summary["flows"]]
    elastic = [
        flow
        for flow, row in zip(flows, summary["flows"], strict=True)
        if flow.kind not in SPARSE | INELASTIC and row["queuing_ms"]["count"]
    ]
    slowest = max(elastic, key=lambda flow: flow.queuing_p95_ms, default=None)
    tests = [row["app"] for row in summary["flows"] if "rpm" in row["app"]]
    bearer = summary["worst"]["bearer"]
    return Measures(
        goodput_mbps=round(goodput_mbps, 6),
        bulk_p95_ms=None if slowest is None else slowest.queuing_p95_ms,
        sparse_p95_ms=_rounded(max(sparse_p95_ms, default=None)),
        late_pct=max((flow.late_pct for flow in flows if flow.late_pct is not None), default=None),
        rpm=_rounded(min((test["rpm"] for test in tests), default=None)),
        loaded_rpm=_rounded(min((test["loaded_rpm"] for test in tests), default=None)),
        worst_bearer_p95_ms=_rounded(None if bearer is None else bearer["sojourn_p95_ms"]),
        transient_s=float(
            max((row["queued_above_100ms_s"] for row in summary["flows"]), default=0)
        ),
        power_of_all=round(_power_of_all(summary["flows"]), 6),
        worst_bearer="" if bearer is None else f"{bearer['rnti']}/{bearer['drb']}",
        worst_bulk_flow="" if slowest is None else slowest.name,
        flows=tuple(flows),
    )


def _flow(row: Mapping[str, Any]) -> FlowMeasures:
    delay, deadline = row["queuing_ms"], row["deadline"]
    return FlowMeasures(
        name=row["name"],
        kind=row["kind"],
        rnti=row["rnti"],
        drb=row["drb"],
        goodput_mbps=round(row["goodput_mbps"], 6),
        queuing_p50_ms=round(delay["p50"], 3),
        queuing_p95_ms=round(delay["p95"], 3),
        queuing_p99_ms=round(delay["p99"], 3),
        lost_packets=row["lost_packets"],
        late_pct=None if deadline is None else round(100.0 - deadline["in_time_pct"], 4),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _power_of_all(flows: Iterable[Mapping[str, Any]]) -> float:
    """0 if a flow that sent got nothing through."""
    powers = [
        row["goodput_mbps"] / max(row["one_way_delay_ms"]["p95"], 1e-3)
        for row in flows
        if row["sent_packets"]
    ]
    return geometric_mean(powers)


def geometric_mean(values: Sequence[float]) -> float:
    """0 if a value is 0 or none is given."""
    if not values or min(values) <= 0.0:
        return 0.0
    return math.exp(math.fsum(map(math.log, values)) / len(values))


#: The values of an arm by name of the axis.
Point = Mapping[str, float]


def shared_axes(points: Iterable[Point]) -> tuple[Axis, ...]:
    """The axes on which every arm has a value."""
    known = list(points)
    return tuple(axis for axis in AXES if all(axis.name in point for point in known))


def no_worse(one: Point, other: Point, axes: Iterable[Axis]) -> bool:
    """Whether the first is worse than the second by no more than the tolerance on each axis."""
    least = 1.0 - TOLERANCE
    return all(axis.ratio(one[axis.name], other[axis.name]) >= least for axis in axes)


def dominates(one: Point, other: Point, axes: Sequence[Axis]) -> bool:
    """Whether the first is better beyond the tolerance on an axis and no worse on the others."""
    better = any(axis.ratio(one[axis.name], other[axis.name]) > 1.0 + TOLERANCE for axis in axes)
    return better and no_worse(one, other, axes)


@dataclass(frozen=True, slots=True)
class Regret:
    """What a better choice would have gained at no cost elsewhere."""

    #: 1 if no template is better without being worse.
    factor: float = 1.0
    template: str = ""
    axis: str = ""


def regret(mine: Point, templates: Mapping[str, Point], axes: Sequence[Axis]) -> Regret:
    """The largest factor by which a template is better on one axis while no worse on the others."""
    worst = Regret()
    for name, point in templates.items():
        for axis in axes:
            factor = axis.ratio(point[axis.name], mine[axis.name])
            others = [other for other in axes if other is not axis]
            if factor > worst.factor and no_worse(point, mine, others):
                worst = Regret(factor, name, axis.name)
    return worst


def front(templates: Mapping[str, Point], axes: Sequence[Axis]) -> frozenset[str]:
    """The Pareto front: the templates that no other dominates."""
    return frozenset(
        name
        for name, point in templates.items()
        if not any(dominates(other, point, axes) for other in templates.values())
    )
