"""Series of three sites with the same programs and gNB ids, the first of which has a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

STEP_S: Final = 30
"""Interval of scrapes and evaluations."""
FAULT_STEP: Final = 20
REPAIR_STEP: Final = 60
"""First steps with the fault and after it."""
END_STEP: Final = 90
NODES: Final = (11, 2, 2)
"""gNBs of each site."""
SLICE: Final = "gold"

SITES: Final = (
    {"cluster": "east", "namespace": "ran", "release": "first"},
    {"cluster": "east", "namespace": "ran", "release": "second"},
    {"cluster": "west", "namespace": "ran", "release": "first"},
)
"""The site with the fault, another release of its namespace, and another cluster's namesake."""

GONE: Final = "gone"
"""No sample: the program ended, or exports the series no more."""
FROZEN: Final = "frozen"
"""The last value of before."""
NOW: Final = "now"
"""The time of the sample."""


@dataclass(frozen=True, slots=True)
class PerStep:
    """A counter that grows by this much in each step."""

    rate: float


Course = float | str | PerStep
"""What a series does: a value, a counter's growth, `GONE`, `FROZEN` or `NOW`."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a fault changes: the course of the series with this name (`sojourn_…`, or all that start
    with a part that ends in `*`) and labels."""

    name: str
    course: Course
    labels: Mapping[str, str]
    from_the_start: bool = False
    """Series in force before the fault too, and until the repair."""

    def covers(self, name: str, labels: Mapping[str, str]) -> bool:
        named = name.startswith(self.name[:-1]) if self.name.endswith("*") else name == self.name
        return named and self.labels.items() <= labels.items()


def change(name: str, course: Course, **labels: str) -> Change:
    return Change(name, course, labels)


Row = tuple[str, dict[str, str], Course]


def healthy(count: int) -> Iterator[Row]:
    """The series of one site of so many gNBs: name, labels, course. Those of a fault alone are
    `GONE`."""
    controllers = [{"job": "tc-controller", "instance": f"c{i}:9100"} for i in range(2)]
    forecaster = {"job": "rlc-forecaster", "instance": "f:9101"}
    bridge = {"job": "flexric-bridge", "instance": "b:9102"}
    nodes = [{"node": f"gnb-{i}"} for i in range(count)]
    for program in (*controllers, forecaster, bridge):
        yield "up", program, 1
        certificate = program | {"use": "http"}
        yield "sojourn_tls_certificate_not_after_seconds", certificate, 90 * 86_400
        yield "sojourn_task_restarts_total", program | {"task": "serve"}, 0
    for xapp in (*controllers, forecaster):
        yield "sojourn_e2_gateway_connected", xapp, 1
        for node in nodes:
            yield "sojourn_e2_last_indication_timestamp_seconds", xapp | node, NOW
            yield "sojourn_e2_indications_total", xapp | node, PerStep(1_500)
    for i, controller in enumerate(controllers):
        yield from _controller(controller, nodes, owner=i == 0)
    yield "sojourn_forecaster_model_info", forecaster | {"model": "default"}, 1
    yield "sojourn_forecaster_model_info", forecaster | {"model": "persistence"}, GONE
    refused = forecaster | {"reason": "checksum"}
    yield "sojourn_forecaster_model_refused_info", refused, GONE
    yield "sojourn_forecaster_model_stale", forecaster, 0
    for node in nodes:
        skill = forecaster | node | {"quantity": "occupancy_bytes"}
        yield "sojourn_forecaster_skill_ratio", skill, 0.2
    yield "sojourn_flexric_up", bridge, 1
    yield "sojourn_flexric_request_budget_left", bridge, 60_000


def _controller(
    program: dict[str, str], nodes: Sequence[dict[str, str]], *, owner: bool
) -> Iterator[Row]:
    yield "sojourn_controller_policy_refused", program, 0
    yield "sojourn_controller_bound_seconds", program | {"rule": "gold"}, 0.02
    for result, course in (("accepted", PerStep(60) if owner else 0), ("unanswered", GONE)):
        yield "sojourn_controller_lease_renewals_total", program | {"result": result}, course
    for result, course in (
        ("accepted", PerStep(60) if owner else 0),
        ("unanswered", GONE),
        ("capability", GONE),
    ):
        outcome = program | {"purpose": "base", "result": result}
        yield "sojourn_controller_controls_total", outcome, course
    asked = program | {"purpose": "own", "result": "not_owner"}
    yield "sojourn_controller_controls_total", asked, 0 if owner else PerStep(20)
    for node in nodes:
        own = program | node
        yield "sojourn_controller_node_owner", own, int(owner)
        yield "sojourn_controller_transactions_per_bearer_hour", own, 1
        yield "sojourn_controller_node_fault", own | {"fault": "none"}, 1
        for fault in ("silent", "unanswered", "refused"):
            yield "sojourn_controller_node_fault", own | {"fault": fault}, GONE
        judged = own | {"slice": SLICE, "rule": "gold"}
        for state, course in (("met", PerStep(5 * STEP_S)), ("violated", 0)):
            seconds = judged | {"state": state}
            yield "sojourn_controller_compliance_seconds_total", seconds, course
        score = judged | {"profile": "game", "window": "15m"}
        yield "sojourn_qoo_segment_score", score, 90
        since = judged | {"ue": "1", "drb": "1", "state": "violated", "blocker": "no_ladder"}
        yield "sojourn_bearer_state_since_timestamp_seconds", since, GONE


def _values(course: Course, changes: Sequence[Change]) -> Iterator[str]:
    """A sample per step."""
    last: float | None = None
    for step in range(END_STEP):
        now = course
        for each in changes:
            first = 0 if each.from_the_start else FAULT_STEP
            if first <= step < REPAIR_STEP:
                now = each.course
        match now:
            case "gone":
                # As Prometheus marks a series that its target exports no more.
                yield "_" if last is None else "stale"
                last = None
                continue
            case "frozen":
                pass
            case "now":
                last = step * STEP_S
            case PerStep(rate):
                last = (last or 0) + rate
            case value:
                last = float(value)
        yield "_" if last is None else f"{last:g}" if last < 1e5 else f"{last:.0f}"


def input_series(faults: Sequence[Change]) -> list[dict[str, Any]]:
    """All series in promtool's form, the first site with the fault."""
    series = []
    for site, count in zip(SITES, NODES, strict=True):
        for name, labels, course in healthy(count):
            changes = [c for c in faults if site is SITES[0] and c.covers(name, labels)]
            pairs = ", ".join(f'{k}="{v}"' for k, v in (site | labels).items())
            values = " ".join(_values(course, changes))
            series.append({"series": f"{name}{{{pairs}}}", "values": values})
    return series
