"""The data set of stolidis2024 §III-B, on the emulated gNB.

UDP at 1, 10, 40 and 100 Mbit/s with ICMP echoes every 1, 10 and 100 ms, sampled every millisecond
under DRQL in a monolithic gNB. §III-A: OAI on the RF simulator, two QoS flows in separate SDAP
queues with round robin, one RLC-AM bearer.

Assumptions where the paper has no value: OAI's n78 carrier (106 PRB, 30 kHz, DDDDDDDMUU), the MCS
at which DRQL reaches the 46 Mbit/s of Fig. 6, SDAP queues of 1000 packets (as a Linux qdisc), and
one minute per combination.
"""

from __future__ import annotations

from typing import Any, Final

from rlc_train.dataset.plan import RunPlan, seed_of

UDP_MBPS: Final = (1, 10, 40, 100)
ICMP_INTERVALS_MS: Final = (1, 10, 100)
CELL: Final = "n78-106prb"
MOBILITY: Final = "static"
ICMP, UDP = 1, 17
"""IP protocol numbers."""


def drql_pipeline(mtu_bytes: int = 1500) -> dict[str, Any]:
    """One queue for ICMP and one for the rest, round robin, DRQL (stolidis2024 §III-A)."""
    return {
        "name": "drql",
        "classifier": {
            "osi": {
                "filters": [
                    {"id": 1, "match": {"protocol": ICMP}, "target": {"first": 0, "count": 1}}
                ],
                "default": {"first": 1, "count": 1},
            }
        },
        "queues": [
            {
                "first": 0,
                "count": 2,
                "discipline": {"fifo": {"drop": "tail"}},
                "limit_packets": 1000,
            }
        ],
        "scheduler": "round_robin",
        "pacer": {"drql": {"mtu_bytes": mtu_bytes}},
        "buffer": {"packets": 1_000_000, "bytes": 1_000_000_000, "overflow": "tail"},
    }


def plan(duration_s: float, seed: int) -> list[RunPlan]:
    """The twelve runs."""
    runs = []
    for mbps in UDP_MBPS:
        for interval_ms in ICMP_INTERVALS_MS:
            run = f"udp{mbps}-icmp{interval_ms}"
            scenario = {
                "duration_s": duration_s,
                "cell": {
                    "rat": "nr",
                    "n_prb": 106,
                    "scs_khz": 30,
                    "tdd": {"pattern": "DDDDDDDMUU"},
                },
                "split": {"core_delay_us": 5000},
                "ues": [
                    {
                        "rnti": 17921,
                        "channel": {"fixed_mcs": 8},
                        "drbs": [
                            {
                                "id": 1,
                                "rlc": {"mode": "am", "sn_bits": 18, "limit_bytes": 10_000_000},
                                "pipeline": drql_pipeline(),
                            }
                        ],
                    }
                ],
                "flows": [
                    {"name": "iperf3", "kind": "udp_cbr", "rate_kbps": 1000 * mbps, "qfi": 9},
                    {"name": "ping", "kind": "ping", "interval_ms": interval_ms, "qfi": 1},
                ],
            }
            runs.append(RunPlan.of(CELL, MOBILITY, run, scenario, seed_of(seed, "grid", run)))
    return runs
