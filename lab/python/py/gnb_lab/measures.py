"""What a recorded run measured: of the cell, each UE, each DRB and each flow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from gnb_lab.results import SweepError, read_json

SUMMARY_FILE: Final = "summary.json"
CURVES_FILE: Final = "curves.json"

SCOPES: Final = ("cell", "ue", "drb", "flow")
"""What a measure is of: all flows of the cell, a UE by C-RNTI, a DRB by C-RNTI and identity
(`17921/1`), a flow by its name in the scenario."""
Subject = tuple[str, str]
"""Scope and name of what a measure is of; the cell has no name."""
CELL: Final[Subject] = ("cell", "")
_MAX_POINTS: Final = 400
"""Most points of a drawn distribution."""


class Distribution(Counter[int]):
    """Packets by the time that they spent in SDAP and RLC, µs."""

    def mean_us(self) -> float:
        """Mean; 0 without packets."""
        return sum(us * packets for us, packets in self.items()) / max(self.total(), 1)

    def quantile_us(self, quantile: float) -> int:
        """The time that a fraction of all packets do not exceed, by nearest rank; 0 without
        packets."""
        rank = max(1, math.ceil(quantile * self.total()))
        below = self._cumulated()
        return next((us for us, packets in below if packets >= rank), max(self, default=0))

    def cdf(self) -> list[tuple[float, float]]:
        """The distribution function: time in ms and share of the packets that do not exceed it.
        Close points are one on paper; the last is always there."""
        total, points = self.total(), [(0.0, -1.0)]
        for us, below in self._cumulated():
            if below / total - points[-1][1] >= 1 / _MAX_POINTS or below == total:
                points.append((us / 1e3, below / total))
        return points[1:]

    def _cumulated(self) -> Iterator[tuple[int, int]]:
        times = sorted(self)
        return zip(times, accumulate(self[us] for us in times), strict=True)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A recorded run.

    Attributes:
        seed: Seed of the scenario.
        duration_s: Virtual time.
        measures: Values by name with unit, of each subject: cell, UEs, DRBs, flows, each in the
            order of the scenario.
        sojourn: Sojourn times of each subject with packets; those of a UE and of the cell are
            those of the DRB whose 95th percentile is highest, which one over several bearers
            would hide.
        curves: Content of `curves.json`.
    """

    seed: int
    duration_s: float
    measures: dict[Subject, dict[str, float]]
    sojourn: dict[Subject, Distribution]
    curves: dict[str, Any]


def read_run(folder: Path) -> RecordedRun:
    """Reads the folder of a run.

    Raises:
        SweepError: A file is missing or not that of a run.
    """
    summary = read_json(folder / SUMMARY_FILE, "summary of a run")
    curves = read_json(folder / CURVES_FILE, "curves of a run")
    try:
        sojourn = _sojourns(curves)
        measures = _measures(summary, sojourn)
        return RecordedRun(
            int(summary["seed"]), float(summary["duration_s"]), measures, sojourn, curves
        )
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        message = f"{folder}: {SUMMARY_FILE} and {CURVES_FILE} are not those of a run: {error!r}"
        raise SweepError(message, is_input=True) from error


def _drb(part: Mapping[str, Any]) -> Subject:
    return "drb", f"{part['rnti']}/{part['drb']}"


def _ue(part: Mapping[str, Any]) -> Subject:
    return "ue", str(part["rnti"])


def _sojourns(curves: Mapping[str, Any]) -> dict[Subject, Distribution]:
    found: dict[Subject, Distribution] = {}
    for curve in curves["sojourn"]:
        for subject in (_drb(curve), ("flow", curve["flow"])):
            packets = found.setdefault(subject, Distribution())
            packets.update(dict(curve["steps_us_packets"]))
    p95_us: dict[Subject, int] = {}
    for (scope, name), own in sorted(found.items()):
        if scope == "drb":
            own_us = own.quantile_us(0.95)
            for subject in (CELL, ("ue", name.partition("/")[0])):
                if own_us > p95_us.get(subject, -1):
                    p95_us[subject], found[subject] = own_us, own
    return found


def _measures(
    summary: Mapping[str, Any], sojourn: Mapping[Subject, Distribution]
) -> dict[Subject, dict[str, float]]:
    bearers, flows = summary["bearers"], summary["flows"]
    dropped, marked = Counter[Subject](), Counter[Subject]()
    goodput: dict[str, Counter[Subject]] = {"down": Counter(), "up": Counter()}
    for part in bearers:
        for subject in (CELL, _ue(part), _drb(part)):
            for key in ("tc_dropped_packets", "rlc_dropped_packets", "f1_lost_packets"):
                dropped[subject] += part[key]
            marked[subject] += part["tc_marked_packets"]
    for flow in flows:
        for subject in (CELL, _ue(flow), _drb(flow)):
            goodput[flow["direction"]][subject] += flow["goodput_bytes"]
    order = dict.fromkeys([CELL, *map(_ue, bearers), *map(_drb, bearers)])
    found: dict[Subject, dict[str, float]] = {}
    for subject in order:
        per_byte = 8.0 / 1e6 / max(summary["duration_s"], 1e-6)
        found[subject] = _common(goodput["down"][subject] * per_byte, sojourn.get(subject))
        if subject in goodput["up"]:
            found[subject]["uplink_goodput_mbps"] = goodput["up"][subject] * per_byte
        found[subject]["dropped_packets"] = float(dropped[subject])
        found[subject]["marked_packets"] = float(marked[subject])
    found[CELL]["used_rb_pct"] = float(summary["cell"]["used_rb_pct"])
    for part in bearers:
        own = found[_drb(part)]
        own["rlc_hol_p95_ms"] = float(part["rlc_hol_ms"]["p95"])
        if queued := part.get("queued_bytes"):
            own["queued_mean_bytes"] = float(queued["mean"])
            own["queued_peak_bytes"] = float(queued["peak"])
    for flow in flows:
        subject = ("flow", flow["name"])
        found[subject] = _of_flow(flow, sojourn.get(subject))
    return found


def _common(goodput_mbps: float, sojourn: Distribution | None) -> dict[str, float]:
    """Goodput and sojourn times."""
    values = {"goodput_mbps": float(goodput_mbps)}
    if sojourn:
        values["sojourn_mean_ms"] = sojourn.mean_us() / 1e3
        for percent in (50, 95, 99):
            values[f"sojourn_p{percent}_ms"] = sojourn.quantile_us(percent / 100) / 1e3
    return values


def _of_flow(flow: Mapping[str, Any], sojourn: Distribution | None) -> dict[str, float]:
    values = _common(flow["goodput_mbps"], sojourn)
    values["lost_packets"] = float(flow["lost_packets"])
    values["marked_packets"] = float(flow["ce_packets"])
    for key in ("tc_dropped_packets", "rlc_dropped_packets"):
        if flow.get(key) is not None:
            values[key] = float(flow[key])
    if deadline := flow.get("deadline"):
        values["in_time_pct"] = float(deadline["in_time_pct"])
    for name, delay in (("one_way", flow["one_way_delay_ms"]), ("rtt", flow.get("rtt_ms"))):
        if delay and delay["count"] > 0:
            values |= {f"{name}_{key}_ms": float(delay[key]) for key in ("p50", "p95", "p99")}
    return values | {name: float(value) for name, value in flow["app"].items()}
