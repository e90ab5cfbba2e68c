"""CQI, MCS, errors and bytes per PRB of recorded radios beside the lab's fading of equal mean CQI.

The lab has an LTE cell of 25 PRBs with the CQI table of the recordings (36.213 table 7.2.3-1) and
one UE that always has data; its reports are averaged over the period of the recording. Its mean SNR
is found so that the mean CQI is the recorded one; speed and shadowing are given.

python benchmarks/recorded_radio.py --traces TRACES --plot recorded-radio.svg
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import gnb_lab
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from ric.sm import MAC_OID, mac
from rlc_dataset.channels import load_trace
from sojourn_report.colours import LINES
from sojourn_report.figures import save
from sojourn_report.markdown import table

Array = NDArray[np.float64]

REPORT_MS: Final = 10
LONGEST_S: Final = 300
"""Virtual time of the lab for a recording; a longer one is compared with so much."""
SEARCH_S: Final = 60
SHADOWING: Final = {"std_dev_db": 6.0, "correlation_m": 50.0}
"""38.901 table 7.5-6, UMa without line of sight."""
PERCENTILES: Final = (5, 25, 50, 75, 95)
SHARES: Final = np.linspace(0, 1, 101)
"""Points of a plotted distribution."""
QUANTITIES: Final = {
    "cqi": "CQI",
    "mcs": "MCS",
    "error_pct": "transmissions with errors, %",
    "bytes_per_prb": "bytes per granted PRB",
}
RECORDINGS: Final = {
    "ucc-5g/static-2020.02.14.csv.gz": 0.3,
    "ucc-5g/driving-2020.01.16.csv.gz": 24.0,
    "ucc-5g/driving-2019.12.16.csv.gz": 38.0,
    "tractor/embb2-ue3.csv.gz": 0.3,
    "tractor/embb3-ue3.csv.gz": 0.3,
}
"""Recordings and speeds in the lab, km/h: the mean of the column `Speed`. At rest people
and cars around the UE move: 0.3."""


@dataclass(frozen=True, slots=True)
class Radio:
    """What a radio did, in steps.

    Attributes:
        name: Row of the table.
        period_s: A step.
        values: Quantity → value of each step, NaN without one.
    """

    name: str
    period_s: float
    values: dict[str, Array]

    def percentiles(self, quantity: str) -> str:
        """Percentiles of a quantity; empty if it was not recorded."""
        known = self.known(quantity)
        if not len(known):
            return ""
        return " ".join(f"{value:.3g}" for value in np.percentile(known, PERCENTILES))

    def known(self, quantity: str) -> Array:
        """Values of the steps that have one."""
        values = self.values.get(quantity, np.zeros(0))
        return values[np.isfinite(values)]

    def correlation(self, distance_s: float) -> float:
        """Correlation of CQI that are `distance_s` apart."""
        steps, cqi = round(distance_s / self.period_s), self.values["cqi"]
        before, after = cqi[:-steps], cqi[steps:]
        both = np.isfinite(before) & np.isfinite(after)
        if np.std(before[both]) == 0 or np.std(after[both]) == 0:
            return float("nan")
        return float(np.corrcoef(before[both], after[both])[0, 1])


def recorded(path: Path, name: str) -> Radio:
    """A recording of UCC or TRACTOR. Only the CQI of UCC's is the radio's alone."""
    trace = load_trace(path)
    values = {"cqi": trace.quantities["cqi"]}
    if "mcs" in trace.quantities:
        granted = trace.quantities["granted_prb"]
        sent = trace.quantities["rate_bps"] * trace.period_us / 8e6
        busy = (trace.quantities["occupancy_bytes"] > 0) & (granted > 0)
        values["mcs"] = np.where(busy, trace.quantities["mcs"], np.nan)
        values["error_pct"] = np.where(busy, trace.quantities["error_pct"], np.nan)
        values["bytes_per_prb"] = np.where(busy, sent / np.maximum(granted, 1), np.nan)
    return Radio(name, trace.period_us / 1e6, values)


def simulated(
    mean_snr_db: float, speed_kmh: float, shadowed: bool, period_s: float, duration_s: float
) -> Radio:
    """A UE of the lab that always has data, in steps of `period_s`."""
    fading: dict[str, object] = {"mean_snr_db": mean_snr_db, "speed_kmh": speed_kmh}
    if shadowed:
        fading["shadowing"] = SHADOWING
    scenario = {
        "name": "fading",
        "seed": 1,
        "duration_s": duration_s,
        "cell": {"rat": "lte", "n_prb": 25, "mcs_table": "qam64"},
        "ues": [{"rnti": 17921, "channel": {"fading": fading}, "drbs": [{"id": 1}]}],
        "flows": [{"name": "udp", "kind": "udp_cbr", "rate_kbps": 40_000}],
    }
    world = gnb_lab.World(scenario)
    world.subscribe(MAC_OID, REPORT_MS)
    records = []
    for second in range(1, int(duration_s) + 1):
        for indication in world.step_until(second * 1_000_000):
            rows = mac.decode(indication.message).records
            if len(rows):
                records.append(rows[0])
    reports = np.array(records)
    each = round(period_s * 1000 / REPORT_MS)
    steps = len(reports) // each
    whole = reports[: steps * each].reshape(steps, each)
    ends = whole[:, -1]
    prb, tbs = (np.diff(ends[name].astype(np.float64)) for name in ("dl_aggr_prb", "dl_aggr_tbs"))
    rounds = np.diff(ends["dl_harq"].astype(np.float64), axis=0)
    sent = rounds[:, :4].sum(axis=1)
    failed = rounds[:, 1:5].sum(axis=1)
    return Radio(
        f"fading, {speed_kmh:g} km/h{', shadowing' if shadowed else ''}",
        period_s,
        {
            "cqi": whole["wb_cqi"].mean(axis=1)[1:],
            "mcs": whole["dl_mcs1"].mean(axis=1)[1:],
            "error_pct": 100 * failed / np.maximum(sent, 1),
            "bytes_per_prb": tbs / np.maximum(prb, 1),
        },
    )


def of_mean_cqi(
    mean_cqi: float, speed_kmh: float, shadowed: bool, period_s: float, duration_s: float
) -> tuple[float, Radio]:
    """The mean SNR, dB, at which the lab's mean CQI is this one, and the radio."""
    low_db, high_db = -10.0, 40.0
    while high_db - low_db > 0.2:
        middle_db = (low_db + high_db) / 2
        tried = simulated(middle_db, speed_kmh, shadowed, period_s, min(duration_s, SEARCH_S))
        if np.nanmean(tried.values["cqi"]) < mean_cqi:
            low_db = middle_db
        else:
            high_db = middle_db
    mean_snr_db = round((low_db + high_db) / 2, 1)
    return mean_snr_db, simulated(mean_snr_db, speed_kmh, shadowed, period_s, duration_s)


def beside(recording: Radio, speed_kmh: float) -> list[tuple[str, Radio]]:
    """The recording, the lab's fading and, for a UE that moves, that with shadowing; with what was
    found for each."""
    mean = float(np.nanmean(recording.values["cqi"]))
    duration_s = min(LONGEST_S, len(recording.values["cqi"]) * recording.period_s)
    found = [("", recording)]
    for shadowed in (False, True) if speed_kmh > 1 else (False,):
        snr_db, radio = of_mean_cqi(mean, speed_kmh, shadowed, recording.period_s, duration_s)
        found.append((f"{snr_db:g} dB", radio))
    return found


def draw(pairs: list[list[tuple[str, Radio]]]) -> Figure:
    """Distributions of each quantity, a row of plots for each recording."""
    figure = Figure(figsize=(12, 2.6 * len(pairs)), layout="constrained")
    axes = figure.subplots(len(pairs), len(QUANTITIES), squeeze=False)
    for row, radios in zip(axes, pairs, strict=True):
        row[0].set_ylabel(radios[0][1].name.replace("/", "\n"))
        for axis, (quantity, title) in zip(row, QUANTITIES.items(), strict=True):
            for colour, (_, radio) in zip(LINES, radios, strict=False):
                known = radio.known(quantity)
                if len(known):
                    axis.plot(np.quantile(known, SHARES), SHARES, color=colour, label=radio.name)
            axis.set_xlabel(title)
        row[0].legend(fontsize=8)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path, required=True, help="folder of ucc-5g and tractor")
    parser.add_argument("--plot", type=Path, help="file for the distributions: .svg, .png or .pdf")
    args = parser.parse_args()
    pairs = [
        beside(recorded(args.traces / name, name.partition(".csv")[0]), speed_kmh)
        for name, speed_kmh in RECORDINGS.items()
    ]
    heads = ["radio", "mean SNR", *QUANTITIES.values(), "CQI 1 s apart", "10 s apart"]
    rows = [
        [
            radio.name,
            snr,
            *(radio.percentiles(quantity) for quantity in QUANTITIES),
            *(f"{radio.correlation(distance_s):.2f}" for distance_s in (1, 10)),
        ]
        for radios in pairs
        for snr, radio in radios
    ]
    print(*table(heads, rows), sep="\n")
    if args.plot is not None:
        save(draw(pairs), args.plot)


if __name__ == "__main__":
    main()
