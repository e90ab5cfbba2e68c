"""Whether a forecaster is reachable and healthy, and forecasts from fresh samples."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from ric.sm import RLC_OID

from ric_doctor.facts import Forecasts, Nodes
from ric_doctor.finding import Check, Finding, Level
from ric_doctor.judge.reach import of_door
from ric_doctor.text import duration, names, share

_CHECK = "forecaster"

OLD_US: Final = 50_000
"""The horizon is some tens of ms; an older forecast is about the past."""
OLD_FAIL_US: Final = 500_000
_WHY: Final = (
    "tc-controller detects violations only when they occur, and the CU's pacers use what they"
)
_WHY_ALL: Final = f"{_WHY} measure themselves."


def judge(seen: Forecasts, nodes: Nodes | None, skewed: Collection[str] = ()) -> list[Finding]:
    """Findings of the forecast stream; `skewed` are the nodes of `nodes` whose clocks are off."""
    address = seen.reach.address
    if (found := of_door(_CHECK, seen.reach, _WHY_ALL)) is not None:
        return [found]
    if seen.reach.code not in ("OK", ""):
        return [_no_stream(seen)]
    findings = []
    if seen.health != "SERVING":
        findings.append(_health(seen))
    if not seen.batches:
        findings.append(_silent(seen))
        return findings
    findings += [*_ended(seen), *_old(seen, skewed), *_fallbacks(seen), *_without(seen, nodes)]
    if not any(f.level in (Level.WARN, Level.FAIL) for f in findings):
        rate = seen.batches * 1e6 / max(seen.window_us, 1)
        by = f"by {names(seen.models)}" if seen.models else "by naive forecasts"
        age = f", age p50 {duration(seen.age_us.p50)}" if seen.age_us else ""
        findings.insert(0, Check(_CHECK, address).ok(f"{rate:.0f} batches a second {by}{age}"))
    return findings


def _no_stream(seen: Forecasts) -> Finding:
    if seen.reach.code == "UNIMPLEMENTED":
        what = "a gRPC server, but not a forecaster"
        remedy = "Check the port: forecast stream and E2 gateway are separate servers."
    else:
        what = f"refuses the stream ({seen.reach.code}: {seen.ended})"
        remedy = "Look at the forecaster's log."
    return Check(_CHECK, seen.reach.address).fail(what, _WHY_ALL, remedy)


def _health(seen: Forecasts) -> Finding:
    return Check(_CHECK, seen.reach.address).found(
        Level.FAIL if seen.health == "NOT_SERVING" else Level.WARN,
        f"its health status is {seen.health}",
        "It is not connected to the gateway, or receives no fresh RLC reports.",
        "Read its /readyz, which names the failing condition.",
    )


def _silent(seen: Forecasts) -> Finding:
    return Check(_CHECK, seen.reach.address).fail(
        f"no forecast within {duration(seen.window_us)}",
        _WHY_ALL,
        "It forecasts at each RLC report: check those (above), and that it uses the same gateway.",
    )


def _ended(seen: Forecasts) -> Iterator[Finding]:
    if not seen.ended:
        return
    yield Check(_CHECK, seen.reach.address).warn(
        f"the stream ended ({seen.ended})", _WHY_ALL, "Look at the forecaster's log."
    )


def _old(seen: Forecasts, skewed: Collection[str]) -> Iterator[Finding]:
    if seen.age_us is None or abs(seen.age_us.p50) <= OLD_US:
        return
    clocks_off = any(node in skewed for node in seen.nodes)
    far = abs(seen.age_us.p50) > OLD_FAIL_US and not clocks_off
    yield Check(_CHECK, seen.reach.address).found(
        Level.FAIL if far else Level.WARN,
        f"forecasts rest on samples of age p50 {duration(seen.age_us.p50)}{_way(seen)}",
        "A forecast older than its horizon is about the past.",
        "Correct the clocks first (above)."
        if clocks_off
        else "The forecaster is too slow: give it a core of its own, or set period_ms: 2"
        " and restart it.",
    )


def _way(seen: Forecasts) -> str:
    way = seen.on_the_way_us
    return "" if way is None else f", {duration(way.p50)} of it from forecaster to here"


def _fallbacks(seen: Forecasts) -> Iterator[Finding]:
    if not seen.fallbacks:
        return
    shown = [
        f"{reason.lower()} {share(count, seen.forecasts)}"
        for reason, count in sorted(seen.fallbacks.items(), key=lambda item: -item[1])
    ]
    wanted = set(seen.fallbacks) <= {"NO_MODEL"} or seen.by_model > 0
    yield Check(_CHECK, seen.reach.address).found(
        Level.NOTE if wanted else Level.WARN,
        f"naive forecasts are served instead of the model: {', '.join(shown)}",
        "Forecasts are mixed from the last value, the last season and a line: right for a"
        " steady radio only.",
        "no_model: set --model. warming_up: wait. worse_than_persistence: retrain on"
        " this cell. model_stale: promote a newer one.",
    )


def _without(seen: Forecasts, nodes: Nodes | None) -> Iterator[Finding]:
    if nodes is None:
        return
    missing = [
        node.id
        for node in nodes.listed
        if node.ran_function(RLC_OID) is not None and node.id not in seen.nodes
    ]
    if not missing:
        return
    yield Check(_CHECK, seen.reach.address).warn(
        f"no forecast of {names(missing)}",
        "Their bearers are controlled without forecasts.",
        "Check that the forecaster uses the same gateway and receives their RLC reports.",
    )
