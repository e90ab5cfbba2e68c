"""The link of the lab beside sionna.sys: error rates, adaptation, scheduling.

Needs ``pip install sionna`` (and PyTorch for the second part), which the project does not install.
"""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import gnb_lab
import numpy
import pytest

SIONNA = importlib.util.find_spec("sionna")
NEEDS_SIONNA = pytest.mark.skipif(SIONNA is None, reason="sionna is not installed")

#: 38.214 tables 5.1.3.1-1 and -2: modulation order, rate × 1024.
QAM64 = (
    *((2, rate) for rate in (120, 157, 193, 251, 308, 379, 449, 526, 602, 679)),
    *((4, rate) for rate in (340, 378, 434, 490, 553, 616, 658)),
    *((6, rate) for rate in (438, 466, 517, 567, 616, 666, 719, 772, 822, 873, 910, 948)),
)
QAM256 = (
    *((2, rate) for rate in (120, 193, 308, 449, 602)),
    *((4, rate) for rate in (378, 434, 490, 553, 616, 658)),
    *((6, rate) for rate in (466, 517, 567, 616, 666, 719, 772, 822, 873)),
    *((8, rate) for rate in (682.5, 711, 754, 797, 841, 885, 916.5, 948)),
)
#: Blocks of a simulated point, and bits of the CRC of a small transport block.
BLOCKS = 300
CRC_BITS = 16


@NEEDS_SIONNA
@pytest.mark.parametrize(("table", "entries"), [(1, QAM64), (2, QAM256)])
def test_error_rates_are_within_half_a_decibel(
    table: int, entries: tuple[tuple[int, float], ...]
) -> None:
    """Each simulated point lies between the curve half a decibel earlier and later."""
    assert SIONNA is not None and SIONNA.origin is not None
    path = Path(SIONNA.origin).parent / "sys" / "bler_tables" / f"PDSCH_table{table}.json"
    curves = json.loads(path.read_text())["category"]["1"]["index"][str(table)]["MCS"]
    compared = 0
    for mcs, curve in curves.items():
        order, rate = entries[int(mcs)]
        for bits in ("500", "1000", "2000"):
            for snr_db, bler in zip(curve["SNR_db"], curve["CBS"][bits]["BLER"], strict=True):
                early, late = (
                    gnb_lab.block_error_rate(order, rate / 1024, int(bits) - CRC_BITS, snr_db + off)
                    for off in (-0.5, 0.5)
                )
                margin = [3 * math.sqrt(p * (1 - p) / BLOCKS) + 0.002 for p in (early, late)]
                where = f"table {table}, MCS {mcs}, {bits} bits, {snr_db} dB"
                assert late - margin[1] <= bler <= early + margin[0], where
                compared += 1
    assert compared > 1000


UES = 10
PRB = 25
SLOTS = 20_000
#: Resource elements of a PRB that carry data: one control and one DMRS symbol of 14.
DATA_RE = 144
#: Small packets, so that a lost block takes little more than itself, and their headers of PDCP,
#: RLC-UM and MAC.
PACKET_BYTES, HEADER_BYTES = 100, 5
#: Mean SNR of the UEs in dB, and what each does around it.
MEANS_DB = tuple(5 + 2 * ue for ue in range(UES))
DEVIATION_DB, COHERENCE_SLOTS = 2.0, 300


def snr_series() -> list[list[float]]:
    """A Gauss-Markov SNR per UE and slot of 1 ms, dB."""
    random = numpy.random.default_rng(3)
    keep = math.exp(-1 / COHERENCE_SLOTS)
    off = DEVIATION_DB * random.standard_normal(UES)
    rows = []
    for _ in range(SLOTS):
        step = DEVIATION_DB * math.sqrt(1 - keep * keep)
        off = keep * off + step * random.standard_normal(UES)
        rows.append([mean + value for mean, value in zip(MEANS_DB, off, strict=True)])
    return rows


def of_the_lab(series: list[list[float]]) -> tuple[list[float], float]:
    """Mbit/s of each UE and the error rate of first transmissions in the lab."""
    scenario = {
        "duration_s": SLOTS / 1000,
        "cell": {
            "rat": "nr",
            "n_prb": PRB,
            "scs_khz": 15,
            "mcs_table": "qam64",
            "max_ues_per_slot": 1,
            "scheduler": {"kind": "pf", "time_constant_ms": 50},
            "harq": {"max_transmissions": 1},
            "adaptation": {"cqi_period_slots": 1, "cqi_delay_slots": 1, "feedback_slots": 1},
        },
        "ues": [
            {
                "rnti": ue + 1,
                "channel": {
                    "snr_series": {"period_ms": 1, "values_db": [row[ue] for row in series]}
                },
                "drbs": [{"id": 1, "rlc": {"mode": "um", "t_reordering_us": 0}}],
            }
            for ue in range(UES)
        ],
        "flows": [
            {"name": f"u{ue}", "kind": "udp_cbr", "rnti": ue + 1, "rate_kbps": 20000}
            | {"packet_bytes": PACKET_BYTES}
            for ue in range(UES)
        ],
    }
    world = gnb_lab.World(scenario)
    world.step_until(SLOTS * 1000)
    summary = world.summary()
    # Decoded bits: packets with their headers of PDCP, RLC and MAC.
    bits = (PACKET_BYTES + HEADER_BYTES) * 8
    rates = [flow["received_packets"] * bits / SLOTS / 1000 for flow in summary["flows"]]
    return rates, summary["cell"]["downlink_first_errors_pct"] / 100


def of_sionna(series: list[list[float]]) -> tuple[list[float], float]:
    """The same of sionna.sys: its scheduler, outer loop and error rates, slot by slot."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    sys = pytest.importorskip("sionna.sys")
    pytest.importorskip("sionna.phy").config.seed = 1
    abstraction = sys.PHYAbstraction()
    loop = sys.OuterLoopLinkAdaptation(abstraction, num_ut=UES, bler_target=0.1, delta_up=1.0)
    scheduler = sys.PFSchedulerSUMIMO(UES, 1, 1, beta=0.98)
    all_re = torch.full([UES], PRB * DATA_RE, dtype=torch.int32)
    none = torch.zeros(UES, dtype=torch.int32)
    feedback = torch.full([UES], -1, dtype=torch.int32)
    decoded = torch.zeros(UES)
    bits = torch.zeros(UES)
    sent = failed = 0
    known = 10 ** (torch.tensor(series[0]) / 10)
    for row in series:
        sinr = 10 ** (torch.tensor(row) / 10)
        achievable = torch.log2(1 + known).reshape(1, 1, UES)
        scheduled = scheduler(decoded, achievable).reshape(UES)
        mcs = loop(all_re, feedback, known, mcs_table_index=1, mcs_category=1)
        decoded, feedback, *_ = abstraction(
            mcs,
            sinr_eff=sinr,
            num_allocated_re=torch.where(scheduled, all_re, none),
            mcs_table_index=1,
            mcs_category=1,
        )
        decoded = decoded.to(torch.float32)
        bits += decoded
        sent += int((feedback >= 0).sum())
        failed += int((feedback == 0).sum())
        known = sinr
    return (bits / SLOTS / 1000).tolist(), failed / sent


@NEEDS_SIONNA
def test_ten_ues_have_the_rates_of_sionna_sys() -> None:
    """Mean rate within 5 %, errors of first transmissions within two points."""
    series = snr_series()
    sionna, sionna_errors = of_sionna(series)
    lab, lab_errors = of_the_lab(series)
    shown = f"lab {[round(rate, 2) for rate in lab]} {lab_errors:.3f}, sionna.sys "
    shown += f"{[round(rate, 2) for rate in sionna]} {sionna_errors:.3f}"
    print(shown)
    assert abs(sum(lab) / sum(sionna) - 1) < 0.05, shown
    assert abs(lab_errors - sionna_errors) < 0.02, shown
