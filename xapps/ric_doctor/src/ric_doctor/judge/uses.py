"""Which xApp needs which reports, and findings about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, ran_function_name

from ric_doctor.facts import INVENTORY, Stream
from ric_doctor.finding import Check, Level


@dataclass(frozen=True, slots=True)
class Use:
    """The effect of missing reports and its level."""

    without: Level
    why: str


_USES: Final[dict[str, Use]] = {
    RLC_OID: Use(
        Level.FAIL, "tc-controller sees no queue and rlc-forecaster forecasts nothing without RLC."
    ),
    MAC_OID: Use(
        Level.WARN, "tc-controller judges utilisation by bytes, forecasts are made without MCS."
    ),
    KPM_OID: Use(
        Level.WARN, "tc-controller judges utilisation by MAC reports, or by bytes without them."
    ),
    TC_V1_OID: Use(Level.FAIL, "tc-controller cannot verify the effect of its controls."),
    INVENTORY: Use(
        Level.WARN,
        "tc-controller has no flows: rungs with a condition on flows, segregate_greedy,"
        " flow_slicing and l4s are never used.",
    ),
    TC_V0_OID: Use(Level.NOTE, "The xApps use v1; some gateways translate it to v0."),
}


def use_of(stream: Stream) -> Use:
    """The use of a subscription's reports."""
    return _USES.get(
        INVENTORY if stream.style == INVENTORY else stream.oid,
        Use(Level.NOTE, "No xApp of this suite uses it."),
    )


def check_of(stream: Stream) -> Check:
    """The check of a subscription; its subject has the style if it is not the default."""
    style = f" {stream.style}" if stream.style == INVENTORY else ""
    return Check("indications", f"{stream.node_id} {ran_function_name(stream.oid)}{style}")


def reports_a_second(count: int, stream: Stream) -> float:
    """A rate over the time from the first report to the end."""
    return count * 1e6 / max(stream.listened_us, 1)
