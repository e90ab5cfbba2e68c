"""A node's E2SM-KPM capabilities by its RAN function definition (aligned PER).

OAI's gNBs and FlexRIC's nodes abort on a report style, a condition or a measurement that they do
not have, so subscriptions contain only what this definition lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import asn1tools

PERIODIC: Final = (1, 1)
"""Event trigger style "periodic report" and its format (O-RAN E2SM-KPM v02.03 §7.3.2)."""
UES_OF_CONDITION: Final = (4, 4, 3)
"""Report style "common condition-based, UE-level measurement" with the formats of its action
definition and indication message (§7.4.5): the one that reports each UE without addressing it."""

MAX_BYTES: Final = 32 * 1024
"""Longest message that FlexRIC's nodes and RIC receive."""

# The part of the module E2SM-KPM-IEs that a RAN function definition consists of. `binRangeDef` is
# left to the extension marker: decoders skip it. Strings are PrintableString there, which aligned
# PER encodes as IA5String; FlexRIC's nodes have names with "_", and some include the closing zero.
ASN1: Final = """
E2SM-KPM-Definition DEFINITIONS AUTOMATIC TAGS ::= BEGIN
RANfunction-Name ::= SEQUENCE {
  ranFunction-ShortName IA5String (SIZE (1..150, ...)),
  ranFunction-E2SM-OID IA5String (SIZE (1..1000, ...)),
  ranFunction-Description IA5String (SIZE (1..150, ...)),
  ranFunction-Instance INTEGER OPTIONAL,
  ...
}
RIC-EventTriggerStyle-Item ::= SEQUENCE {
  ric-EventTriggerStyle-Type INTEGER,
  ric-EventTriggerStyle-Name IA5String (SIZE (1..150, ...)),
  ric-EventTriggerFormat-Type INTEGER,
  ...
}
MeasurementInfo-Action-Item ::= SEQUENCE {
  measName IA5String (SIZE (1..150, ...)),
  measID INTEGER (1..65536, ...) OPTIONAL,
  ...
}
RIC-ReportStyle-Item ::= SEQUENCE {
  ric-ReportStyle-Type INTEGER,
  ric-ReportStyle-Name IA5String (SIZE (1..150, ...)),
  ric-ActionFormat-Type INTEGER,
  measInfo-Action-List SEQUENCE (SIZE (1..65535)) OF MeasurementInfo-Action-Item,
  ric-IndicationHeaderFormat-Type INTEGER,
  ric-IndicationMessageFormat-Type INTEGER,
  ...
}
E2SM-KPM-RANfunction-Description ::= SEQUENCE {
  ranFunction-Name RANfunction-Name,
  ric-EventTriggerStyle-List SEQUENCE (SIZE (1..63)) OF RIC-EventTriggerStyle-Item OPTIONAL,
  ric-ReportStyle-List SEQUENCE (SIZE (1..63)) OF RIC-ReportStyle-Item OPTIONAL,
  ...
}
END
"""
TYPE: Final = "E2SM-KPM-RANfunction-Description"


class KpmDefinitionError(ValueError):
    """Not a RAN function definition of E2SM-KPM, or one without periodic reports per UE."""


@dataclass(frozen=True)
class ReportStyle:
    """One report style of a node."""

    number: int
    action_format: int
    message_format: int
    measurements: frozenset[str]


@dataclass(frozen=True)
class KpmDefinition:
    """What a node supports."""

    periodic: bool
    """Whether it reports periodically. FlexRIC's nodes of 2023 list no trigger and have this
    one."""
    styles: tuple[ReportStyle, ...]

    @property
    def measurements(self) -> frozenset[str] | None:
        """Names (3GPP TS 28.552) that are available per UE; None without the style."""
        return next(
            (
                style.measurements
                for style in self.styles
                if (style.number, style.action_format, style.message_format) == UES_OF_CONDITION
            ),
            None,
        )

    def describe(self) -> str:
        """The styles, for messages."""
        numbers = ", ".join(str(style.number) for style in self.styles)
        return f"report styles {numbers}" if numbers else "no report style"


@cache
def _codec() -> Any:
    return asn1tools.compile_string(ASN1, "per")


def decode(definition: bytes) -> KpmDefinition:
    """Read a RAN function definition; raises `KpmDefinitionError`.

    Time is bounded by the length of the input, which is bounded by `MAX_BYTES`.
    """
    if not definition:
        raise KpmDefinitionError("KPM RAN function definition: empty; expected aligned PER")
    if len(definition) > MAX_BYTES:
        raise KpmDefinitionError(
            f"KPM RAN function definition: {len(definition)} bytes; expected at most {MAX_BYTES}"
        )
    try:
        decoded = _codec().decode(TYPE, definition)
    except (asn1tools.Error, ValueError, IndexError, OverflowError, NotImplementedError) as error:
        # What asn1tools raises for invalid bytes; the last for a string longer than its size.
        raise KpmDefinitionError(
            f"KPM RAN function definition: {error}; expected {TYPE} in aligned PER"
        ) from None
    triggers = decoded.get("ric-EventTriggerStyle-List")
    return KpmDefinition(
        periodic=triggers is None
        or any(
            (item["ric-EventTriggerStyle-Type"], item["ric-EventTriggerFormat-Type"]) == PERIODIC
            for item in triggers
        ),
        styles=tuple(map(_style, decoded.get("ric-ReportStyle-List", ()))),
    )


def offered(definition: bytes, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Splits measurement names into those that the node has per UE and those it lacks.

    Raises `KpmDefinitionError` for a node without periodic reports per UE.
    """
    node = decode(definition)
    known = node.measurements
    if known is None or not node.periodic:
        raise KpmDefinitionError(
            f"the node has {node.describe()}"
            f"{'' if node.periodic else ', none of them periodic'}; "
            "expected style 4, a periodic report for each UE of a condition"
        )
    available = tuple(name for name in names if name in known)
    return available, tuple(name for name in names if name not in known)


def _style(item: dict[str, Any]) -> ReportStyle:
    return ReportStyle(
        number=item["ric-ReportStyle-Type"],
        action_format=item["ric-ActionFormat-Type"],
        message_format=item["ric-IndicationMessageFormat-Type"],
        # FlexRIC's C strings include their closing zero.
        measurements=frozenset(
            each["measName"].rstrip("\0") for each in item["measInfo-Action-List"]
        ),
    )
