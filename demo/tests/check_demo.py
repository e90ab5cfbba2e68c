"""Checks the summary of `make demo` on the default cell against the README's claims.

Latencies are printed without a verdict: they depend on the machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

UNCONTROLLED_P95_MS = 300.0
CONTROLLED_P95_MS = 30.0
GOODPUT_RATIO = 0.95
EACH_SECOND_RATIO = 0.7
"""Goodput that each of the first three seconds after the decision keeps."""
UNCONTROLLED_RPM = 300.0
CONTROLLED_RPM = 500.0
CONTROLLED_LOADED_RPM = 400.0
"""Round trips per minute under load; E2SM-TC v0 has no pipeline that keeps all new flows apart, so
through other gateways they are printed without a verdict."""


Check = tuple[str, float | None, str, float]
"""Name, value, relation, bound."""


def responsiveness(summary: dict[str, Any]) -> tuple[Check, ...]:
    """What is checked of the scores; nothing through another gateway than the lab's."""
    scores = summary.get("responsiveness", {})
    with_control, without = (scores.get(f"{run}_control") or {} for run in ("with", "without"))
    if summary["through"] != "lab":
        print(f"responsiveness: {with_control} with control, {without} without")
        return ()
    return (
        ("uncontrolled RPM", without.get("rpm"), "<=", UNCONTROLLED_RPM),
        ("controlled RPM", with_control.get("rpm"), ">=", CONTROLLED_RPM),
        ("controlled loaded RPM", with_control.get("loaded_rpm"), ">=", CONTROLLED_LOADED_RPM),
    )


def main() -> int:
    """0 when the summary meets every claim."""
    path = Path(sys.argv[1])
    summary = json.loads(path.read_text())
    before, after = summary["phases"]
    ratios = summary["ratios"]
    each_second = ratios["goodput_with_over_without_control_each_second"]
    least = min(each_second) if len(each_second) == 3 and None not in each_second else None
    checks: tuple[Check, ...] = (
        ("uncontrolled ping p95, ms", before["ping_rtt_ms"]["p95"], ">", UNCONTROLLED_P95_MS),
        ("controlled ping p95, ms", after["ping_rtt_ms"]["p95"], "<=", CONTROLLED_P95_MS),
        ("goodput, after over before", ratios["goodput_after_over_before"], ">=", GOODPUT_RATIO),
        (
            "goodput from the decision on, with over without control",
            ratios["goodput_with_over_without_control"],
            ">=",
            GOODPUT_RATIO,
        ),
        ("the same, least of the first three seconds", least, ">=", EACH_SECOND_RATIO),
        ("decisions", len(summary["decisions"]), ">=", 1),
        *responsiveness(summary),
    )
    good = True
    for name, value, relation, bound in checks:
        kept = (
            value is not None
            and {">": value > bound, "<=": value <= bound, ">=": value >= bound}[relation]
        )
        good &= kept
        print(f"{'kept  ' if kept else 'BROKEN'} {name}: {value} {relation} {bound}")
    loop = summary["loop"]
    print(f"loop: indication {loop['indication_latency_us']} µs, ack {loop['detect_to_ack_ms']} ms")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
