"""Scenario and recording of the gNB: the folder in ``--out`` of ``gnb-lab`` and
``flexric-node``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray
from pyarrow import csv

from sojourn_demo import DemoError

Floats = NDArray[np.float64]
MBIT_PER_BYTE = 8e-6
BULK: Final = ("tcp", "udp")
"""Kinds of bulk flows; UDP has the OAI gNB's alone."""
APPLICATIONS: Final = "applications.csv"
"""What programs outside the gNB measured: rows as those of its flows, in its time."""

_NO_RECORDING: Final = (
    *(OSError, ValueError, KeyError, IndexError, TypeError, OverflowError, RecursionError),
    pa.ArrowException,
)
"""What reading files of another shape ends in."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values with their times, s of the run."""

    at_s: Floats
    value: Floats

    def later(self, by_s: float) -> Series:
        """The same values later."""
        return Series(self.at_s + by_s, self.value)

    def until(self, end_s: float) -> Series:
        """The values before `end_s`."""
        here = self.at_s < end_s
        return Series(self.at_s[here], self.value[here])

    def between(self, from_s: float, to_s: float) -> Floats:
        """The values within ``[from_s, to_s)``."""
        return self.value[(self.at_s >= from_s) & (self.at_s < to_s)]


@dataclass(frozen=True, slots=True)
class Counter:
    """A cumulative quantity at times in s of the run, linear between them."""

    at_s: Floats
    total: Floats

    def later(self, by_s: float) -> Counter:
        """The same quantity later."""
        return Counter(self.at_s + by_s, self.total)

    def until(self, end_s: float) -> Counter:
        """The quantity up to `end_s`."""
        here = self.at_s <= end_s
        return Counter(self.at_s[here], self.total[here])

    def rates(self, edges_s: Floats) -> Floats:
        """Its mean rate per second between neighbouring edges."""
        totals = np.interp(edges_s, self.at_s, self.total)
        return np.asarray(np.diff(totals) / np.diff(edges_s))

    def rate(self, from_s: float, to_s: float) -> float | None:
        """Its mean rate per second; None if the span is empty."""
        return float(self.rates(np.array([from_s, to_s]))[0]) if to_s > from_s else None


@dataclass(frozen=True, slots=True)
class Recording:
    """One run of the first bearer. All times are of the gNB's clock, 0 at its start.

    Attributes:
        epoch_us: Unix time of the start.
        duration_s: Duration.
        rtt_ms: Ping round trips, by the time the request was sent.
        pings_s: When each ping was sent, answered or not.
        voip_ms: One-way delay of VoIP packets, by the time they were sent.
        own_ms: One-way delay of the packets of each bulk flow, by name of the flow.
        goodput_mbit: Bytes of bulk flows handed to the application, of TCP in order.
        drained_mbit: SDU bytes of the bearer that the MAC drained, of all flows.
        rlc_hol_ms: Age of the head of the RLC buffer, each ms.
        rlc_mb: RLC occupancy, each ms.
        tc_mb: Backlog of the pipeline, each ms.
        used_prb: Downlink PRBs of the cell that carried data.
        available_prb: Downlink PRBs of the cell.
        revision: Revision of the pipeline in force, each ms.
    """

    epoch_us: int
    duration_s: float
    rtt_ms: Series
    pings_s: Floats
    voip_ms: Series
    own_ms: dict[str, Series]
    goodput_mbit: Counter
    drained_mbit: Counter
    rlc_hol_ms: Series
    rlc_mb: Series
    tc_mb: Series
    used_prb: Counter
    available_prb: Counter
    revision: Series

    def later(self, by_s: float) -> Recording:
        """The same run, all of it later."""
        return replace(
            self,
            duration_s=self.duration_s + by_s,
            pings_s=self.pings_s + by_s,
            **self._each(lambda values: values.later(by_s)),
        )

    def until(self, end_s: float) -> Recording:
        """The run up to `end_s`."""
        return replace(
            self,
            duration_s=min(self.duration_s, end_s),
            pings_s=self.pings_s[self.pings_s < end_s],
            **self._each(lambda values: values.until(end_s)),
        )

    def _each(self, change: Callable[[Any], Any]) -> dict[str, Any]:
        """Each series and counter changed, by the name of its field."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        changed: dict[str, Any] = {
            name: change(value)
            for name, value in values.items()
            if isinstance(value, Series | Counter)
        }
        changed["own_ms"] = {name: change(delay) for name, delay in self.own_ms.items()}
        return changed

    def switched_s(self) -> float | None:
        """When a pipeline other than the first came into force; None if none did."""
        changed = np.flatnonzero(np.diff(self.revision.value))
        return float(self.revision.at_s[changed[0] + 1]) if len(changed) else None

    def in_force_s(self, revision: int) -> float | None:
        """When this revision of the pipeline came into force; None if it never did."""
        found = np.flatnonzero(self.revision.value == revision)
        return float(self.revision.at_s[found[0]]) if len(found) else None

    def used_rb_pct(self, edges_s: Floats) -> Floats:
        """Used share of the downlink PRBs between neighbouring edges."""
        used, available = self.used_prb.rates(edges_s), self.available_prb.rates(edges_s)
        share = np.zeros_like(used)
        return np.asarray(np.divide(100 * used, available, out=share, where=available > 0))


def read_recording(folder: Path) -> Recording:
    """Reads a folder.

    Raises:
        DemoError: A file is missing or invalid.
    """
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
        bearers = _table(folder, "bearers")
        flows = _table(folder, "flows")
        if (measured := folder / APPLICATIONS).exists():
            rows = csv.read_csv(measured).to_pydict()
            flows = {name: column + rows[name] for name, column in flows.items()}
        return _recording(summary, bearers, flows)
    except _NO_RECORDING as error:
        raise DemoError(f"{folder}: cannot be read as a recording: {error!r}") from error


def _recording(
    summary: dict[str, Any], bearers: dict[str, list[Any]], flows: dict[str, list[Any]]
) -> Recording:
    b = {name: np.asarray(column) for name, column in bearers.items()}
    first = (b["rnti"] == b["rnti"][0]) & (b["drb"] == b["drb"][0])
    b = {name: column[first] for name, column in b.items()}
    at_s = b["time_us"] / 1e6
    f = {name: np.asarray(column) for name, column in flows.items()}
    duration_s = float(summary["duration_s"])
    return Recording(
        epoch_us=int(summary["epoch_us"]),
        duration_s=duration_s,
        rtt_ms=_delays(f, "rtt"),
        pings_s=_pings(f, duration_s),
        voip_ms=_delays(f, "one_way", f["kind"] == "voip"),
        own_ms={
            str(name): _delays(f, "one_way", f["flow"] == name)
            for name in np.unique(
                f["flow"][np.isin(f["kind"], BULK) & (f["quantity"] == "one_way")]
            )
        },
        goodput_mbit=_goodput(f),
        drained_mbit=Counter(at_s, b["drained_bytes"] * MBIT_PER_BYTE),
        rlc_hol_ms=Series(at_s, b["rlc_hol_us"] / 1e3),
        rlc_mb=Series(at_s, b["rlc_occupancy_bytes"] / 1e6),
        tc_mb=Series(at_s, b["tc_backlog_bytes"] / 1e6),
        used_prb=Counter(at_s, b["cell_used_prb"]),
        available_prb=Counter(at_s, b["cell_available_prb"]),
        revision=Series(at_s, b["tc_revision"]),
    )


def _table(folder: Path, name: str) -> dict[str, list[Any]]:
    """A table by `gnb-lab` (Parquet) or `flexric-node` (CSV)."""
    text = folder / f"{name}.csv"
    table = csv.read_csv(text) if text.exists() else pq.read_table(folder / f"{name}.parquet")
    columns: dict[str, list[Any]] = table.to_pydict()
    return columns


def _delays(
    flows: dict[str, NDArray[Any]], quantity: str, of: NDArray[Any] | Literal[True] = True
) -> Series:
    rows = (flows["quantity"] == quantity) & of
    delay_us = flows["value"][rows]
    sent_s = (flows["time_us"][rows] - delay_us) / 1e6
    order = np.argsort(sent_s, kind="stable")
    return Series(sent_s[order], delay_us[order] / 1e3)


def _pings(flows: dict[str, NDArray[Any]], duration_s: float) -> Floats:
    """Times of all pings: they are sent at a fixed interval from the first to the end."""
    sent = []
    pings = (flows["quantity"] == "rtt") & (flows["kind"] == "ping")
    for name in np.unique(flows["flow"][pings]):
        rows = pings & (flows["flow"] == name)
        answered_s = np.sort(flows["time_us"][rows] - flows["value"][rows]) / 1e6
        if len(answered_s) > 1:
            sent.append(np.arange(answered_s[0], duration_s, np.median(np.diff(answered_s))))
    return np.sort(np.concatenate(sent)) if sent else np.array([])


def _goodput(flows: dict[str, NDArray[Any]]) -> Counter:
    """All bulk flows together."""
    rows = (flows["quantity"] == "goodput_bytes") & np.isin(flows["kind"], BULK)
    if not rows.any():
        return Counter(np.zeros(1), np.zeros(1))
    at_s = np.unique(flows["time_us"][rows]) / 1e6
    total = np.zeros(len(at_s))
    for name in np.unique(flows["flow"][rows]):
        flow = rows & (flows["flow"] == name)
        total += np.interp(at_s, flows["time_us"][flow] / 1e6, flows["value"][flow], left=0.0)
    return Counter(at_s, total * MBIT_PER_BYTE)


def write_scenario(
    base: Path,
    out: Path,
    *,
    duration_s: float,
    trace: Path | None,
    seed: int | None,
    change: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Path:
    """Writes ``scenario.yaml`` to `out`, derived from `base`; `change` edits it last.

    Raises:
        DemoError: A file cannot be read, or `base` has no UE.
    """
    try:
        scenario: Any = yaml.safe_load(base.read_text())
    except OSError as error:
        raise DemoError(f"{base}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DemoError(f"{base}: {error}") from error
    ues = scenario.get("ues") if isinstance(scenario, dict) else None
    if not isinstance(ues, list) or not ues or not all(isinstance(ue, dict) for ue in ues):
        raise DemoError(f"{base}: has no ues; expected a gnb-lab scenario")
    scenario["duration_s"] = duration_s
    if seed is not None:
        scenario["seed"] = seed
    if trace is not None:
        if not trace.is_file():
            raise DemoError(f"{trace}: no such file; expected a Mahimahi trace (.xz and .gz too)")
        scenario["name"] = f"{scenario.get('name', base.stem)} on {trace.name}"
        for ue in ues:
            ue["channel"] = {"mahimahi": {"path": str(trace.resolve())}}
    change(scenario)
    path = out / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario, sort_keys=False))
    return path
