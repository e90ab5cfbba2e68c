"""Responsiveness under working conditions (RPM) without and with control: a test at the end of a
run, in its scenario and in the gNB's summary; how it is shown.

Source: draft-ietf-ippm-responsiveness-09, as docs/measures.md has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure
from sojourn_report import Plot, plain

from sojourn_demo import DemoError
from sojourn_demo.colours import RESPONSIVENESS
from sojourn_demo.figures import SIZE, both

KIND: Final = "responsiveness"
FLOW: Final = "demo-rpm"
"""Name of the flow in the scenario."""
INTERVAL_MS: Final = 1_000
"""A connection more and a score each second: the draft's intervals of 5 s would take 20 s."""
LEAST_S: Final = 5.0
"""Shortest test: a score is over four intervals."""
LOADS: Final = ("tcp", "quic", "udp_cbr", "download")
"""Kinds of flows that end before the test, which loads the path itself."""
UNMEASURED: Final = "–"
ROWS: Final = (
    ("RPM", "rpm"),
    ("RPM on new connections (foreign)", "foreign_rpm"),
    ("RPM in a loading connection (loaded)", "loaded_rpm"),
)
"""Name and key of a score."""


@dataclass(frozen=True, slots=True)
class Score:
    """Round trips per minute: on new connections, in a loading one, and the mean of both."""

    rpm: float
    foreign_rpm: float
    loaded_rpm: float

    def rounded(self) -> dict[str, float]:
        """The figures for a summary."""
        return {name: round(value, 1) for name, value in asdict(self).items()}


def add_test(scenario: dict[str, Any], from_s: float, to_s: float) -> None:
    """Adds a test at the first UE from `from_s` to `to_s`, before which bulk flows end.

    A scenario that has a test of its own keeps its flows as they are.
    """
    flows = scenario.setdefault("flows", [])
    if not isinstance(flows, list) or any(_kind(flow) == KIND for flow in flows):
        return
    for flow in flows:
        if _kind(flow) in LOADS and _number(flow.get("start_s", 0.0)) < from_s:
            flow["stop_s"] = min(_number(flow.get("stop_s", from_s)), from_s)
    test = {
        **{"name": FLOW, "kind": KIND, "start_s": from_s, "stop_s": to_s},
        KIND: {"interval_ms": INTERVAL_MS},
    }
    if "rnti" in (first := scenario["ues"][0]):
        test["rnti"] = first["rnti"]
    flows.append(test)


def _kind(flow: Any) -> Any:
    return flow.get("kind") if isinstance(flow, dict) else None


def _number(value: Any) -> float:
    """What `gnb-lab` refuses, with its place, is left to it."""
    return float(value) if isinstance(value, int | float) else 0.0


def read_score(folder: Path) -> Score | None:
    """The score of the first test in the gNB's summary of a run; None where no test ended.

    Raises:
        DemoError: The summary cannot be read.
    """
    path = folder / "summary.json"
    try:
        flows = json.loads(path.read_text())["flows"]
        apps: list[dict[str, Any]] = [flow["app"] for flow in flows if flow["kind"] == KIND]
        app = apps[0] if apps else {}
        return Score(*(float(app[key]) for _, key in ROWS)) if "rpm" in app else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DemoError(f"{path}: {error!r}; expected a summary of gnb-lab") from error


def figures(
    controlled: Score | None, without: Score | None, **test: Any
) -> dict[str, dict[str, Any]]:
    """The entry of the summary, null for a run without a score; nothing if neither has one. `test`
    says what it was."""
    if controlled is None and without is None:
        return {}
    sides = {"with_control": controlled, "without_control": without}
    return {KIND: {**test, **{name: side and side.rounded() for name, side in sides.items()}}}


def cells(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Rows of name, value with control and without; none without a test."""
    found = summary.get(KIND)
    if found is None:
        return []
    with_control, without = found["with_control"], found["without_control"]
    return [(name, _shown(with_control, key), _shown(without, key)) for name, key in ROWS]


def _shown(side: Mapping[str, float] | None, key: str) -> str:
    return UNMEASURED if side is None else f"{side[key]:,.0f}"


def sentence(summary: Mapping[str, Any]) -> str:
    """The result in words, HTML; empty without a test."""
    if not (rows := cells(summary)):
        return ""
    _, with_control, without = rows[0]
    return f" Responsiveness under load {_said(with_control)}; without control it {_said(without)}."


def _said(rpm: str) -> str:
    unmeasured = "could not be measured, as too few probes were answered"
    return unmeasured if rpm == UNMEASURED else f"was <b>{rpm} RPM</b>"


def plots(summary: Mapping[str, Any]) -> Iterator[Plot]:
    """A bar for each score, on an axis of decades; nothing without a test."""
    found = summary.get(KIND)
    if found is None:
        return
    figure = Figure(figsize=SIZE, layout="constrained")
    axis = figure.subplots()
    shown: list[float] = []
    for at, (_, key) in enumerate(ROWS):
        for side, offset, solid in (("with_control", -0.2, True), ("without_control", 0.2, False)):
            if found[side] is None:
                continue
            value = found[side][key]
            shown.append(value)
            axis.barh(
                at + offset,
                value,
                height=0.36,
                color=RESPONSIVENESS if solid else "none",
                edgecolor=RESPONSIVENESS,
                linestyle="-" if solid else (0, (3, 2)),
            )
            axis.annotate(
                f"{value:,.0f}", (value, at + offset), (3, -4), textcoords="offset points"
            )
    # Room for the numbers.
    axis.set(xscale="log", xlim=(min(shown) / 3, 4 * max(shown)), xlabel="round trips per minute")
    axis.set(yticks=range(len(ROWS)), yticklabels=("RPM", "foreign", "loaded"), ylim=(2.5, -0.5))
    plain(axis.xaxis)
    yield Plot.of(figure, "Responsiveness under load, higher is better", both(RESPONSIVENESS))
