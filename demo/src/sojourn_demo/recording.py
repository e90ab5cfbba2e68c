"""Scenario and recording of the gNB: the folder in ``--out`` of ``gnb-lab`` and
``flexric-node``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray
from pyarrow import csv

from sojourn_demo import DemoError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Series:
    """Values with their times, s of the run."""

    at_s: Floats
    value: Floats

    def between(self, from_s: float, to_s: float) -> Floats:
        """The values within ``[from_s, to_s)``."""
        return self.value[(self.at_s >= from_s) & (self.at_s < to_s)]


@dataclass(frozen=True, slots=True)
class Recording:
    """One run of the first bearer.

    Attributes:
        epoch_us: Unix time of the start.
        duration_s: Duration.
        rtt_ms: Ping round trips, by the time the request was sent.
        voip_ms: One-way delay of VoIP packets, by the time they were sent.
        delivered_mbps: Bulk goodput in bins of 100 ms.
        rlc_hol_ms: Age of the head of the RLC buffer, each ms.
        rlc_mb: RLC occupancy, each ms.
        tc_mb: Backlog of the pipeline, each ms.
        used_rb_pct: Used share of the downlink PRBs in bins of 100 ms.
    """

    epoch_us: int
    duration_s: float
    rtt_ms: Series
    voip_ms: Series
    delivered_mbps: Series
    rlc_hol_ms: Series
    rlc_mb: Series
    tc_mb: Series
    used_rb_pct: Series


BIN_S = 0.1


def read_recording(folder: Path) -> Recording:
    """Reads a folder.

    Raises:
        DemoError: A file is missing or invalid.
    """
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
        bearers = _table(folder, "bearers")
        flows = _table(folder, "flows")
    except (OSError, ValueError) as error:
        raise DemoError(f"{folder}: cannot be read as a recording: {error}") from error
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
        voip_ms=_delays(f, "one_way"),
        delivered_mbps=_bulk(f, duration_s),
        rlc_hol_ms=Series(at_s, b["rlc_hol_us"] / 1e3),
        rlc_mb=Series(at_s, b["rlc_occupancy_bytes"] / 1e6),
        tc_mb=Series(at_s, b["tc_backlog_bytes"] / 1e6),
        used_rb_pct=_used(at_s, b, duration_s),
    )


def _table(folder: Path, name: str) -> dict[str, list[Any]]:
    """A table by `gnb-lab` (Parquet) or `flexric-node` (CSV)."""
    text = folder / f"{name}.csv"
    table = csv.read_csv(text) if text.exists() else pq.read_table(folder / f"{name}.parquet")
    columns: dict[str, list[Any]] = table.to_pydict()
    return columns


def _delays(flows: dict[str, NDArray[Any]], quantity: str) -> Series:
    rows = flows["quantity"] == quantity
    if quantity == "one_way":
        rows &= flows["kind"] == "voip"
    delay_us = flows["value"][rows]
    sent_s = (flows["time_us"][rows] - delay_us) / 1e6
    order = np.argsort(sent_s, kind="stable")
    return Series(sent_s[order], delay_us[order] / 1e3)


def _bulk(flows: dict[str, NDArray[Any]], duration_s: float) -> Series:
    """Goodput of all TCP flows, from their cumulative counters."""
    edges = np.arange(0, duration_s + BIN_S / 2, BIN_S)
    total = np.zeros(len(edges))
    counters = (flows["quantity"] == "goodput_bytes") & (flows["kind"] == "tcp")
    for name in np.unique(flows["flow"][counters]):
        rows = counters & (flows["flow"] == name)
        total += np.interp(edges, flows["time_us"][rows] / 1e6, flows["value"][rows], left=0.0)
    return Series(edges[:-1], np.diff(total) * 8 / BIN_S / 1e6)


def _used(at_s: Floats, bearer: dict[str, NDArray[Any]], duration_s: float) -> Series:
    edges = np.arange(0, duration_s + BIN_S / 2, BIN_S)
    used = np.diff(np.interp(edges, at_s, bearer["cell_used_prb"]))
    available = np.diff(np.interp(edges, at_s, bearer["cell_available_prb"]))
    return Series(
        edges[:-1], np.divide(100 * used, available, out=np.zeros_like(used), where=available > 0)
    )


def write_scenario(
    base: Path, out: Path, *, duration_s: float, trace: Path | None, seed: int | None
) -> Path:
    """Writes ``scenario.yaml`` to `out`, derived from `base`.

    Raises:
        DemoError: A file cannot be read, or `base` has no UE.
    """
    try:
        scenario: Any = yaml.safe_load(base.read_text())
    except OSError as error:
        raise DemoError(f"{base}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise DemoError(f"{base}: {error}") from error
    if not isinstance(scenario, dict) or not scenario.get("ues"):
        raise DemoError(f"{base}: has no ues; expected a gnb-lab scenario")
    scenario["duration_s"] = duration_s
    if seed is not None:
        scenario["seed"] = seed
    if trace is not None:
        if not trace.is_file():
            raise DemoError(f"{trace}: no such file; expected a Mahimahi trace (.xz and .gz too)")
        scenario["name"] = f"{scenario.get('name', base.stem)} on {trace.name}"
        for ue in scenario["ues"]:
            ue["channel"] = {"mahimahi": {"path": str(trace.resolve())}}
    path = out / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario, sort_keys=False))
    return path
