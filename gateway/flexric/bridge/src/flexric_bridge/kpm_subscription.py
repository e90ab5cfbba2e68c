"""Subscriptions to E2SM-KPM as the standard encodes them (aligned PER), for nodes that are not
FlexRIC's.

FlexRIC encodes and expects them in its own way, that of 2026-03 excepted: its formats 3 to 5 stand
in front of the extension marker. Its agents get what the installed FlexRIC makes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import asn1tools

from flexric_bridge.sdk import SNssai

# The part of E2SM-KPM-IEs (O-RAN.WG3.E2SM-KPM §8.2) of which report style 4 consists. Alternatives
# that are never chosen are NULL; strings are PrintableString there, which aligned PER encodes as
# IA5String.
ASN1: Final = """
E2SM-KPM-Subscription DEFINITIONS AUTOMATIC TAGS ::= BEGIN
E2SM-KPM-EventTriggerDefinition ::= SEQUENCE {
  eventDefinition-formats CHOICE {
    eventDefinition-Format1 SEQUENCE { reportingPeriod INTEGER (1..4294967295), ... },
    ...
  },
  ...
}
E2SM-KPM-ActionDefinition ::= SEQUENCE {
  ric-Style-Type INTEGER,
  actionDefinition-formats CHOICE {
    actionDefinition-Format1 NULL,
    actionDefinition-Format2 NULL,
    actionDefinition-Format3 NULL,
    ...,
    actionDefinition-Format4 SEQUENCE {
      matchingUeCondList SEQUENCE (SIZE (1..32768)) OF SEQUENCE {
        testCondInfo SEQUENCE {
          testType CHOICE {
            gBR NULL, aMBR NULL, isStat NULL, isCatM NULL, rSRP NULL, rSRQ NULL,
            ...,
            ul-rSRP NULL, cQI NULL, fiveQI NULL, qCI NULL, sNSSAI Present
          },
          testExpr ENUMERATED { equal, greaterthan, lessthan, contains, present, ... } OPTIONAL,
          testValue CHOICE {
            valueInt NULL, valueEnum NULL, valueBool NULL, valueBitS NULL,
            valueOctS OCTET STRING,
            valuePrtS NULL,
            ...
          } OPTIONAL,
          ...
        },
        ...
      },
      subscriptionInfo SEQUENCE {
        measInfoList SEQUENCE (SIZE (1..65535)) OF SEQUENCE {
          measType CHOICE { measName IA5String (SIZE (1..150, ...)), measID NULL, ... },
          labelInfoList SEQUENCE (SIZE (1..2147483647)) OF SEQUENCE { measLabel Label, ... },
          ...
        },
        granulPeriod INTEGER (1..4294967295),
        cellGlobalID NULL OPTIONAL,
        ...
      },
      ...
    }
  },
  ...
}
Present ::= ENUMERATED { true, ... }
Label ::= SEQUENCE {
  noLabel Present OPTIONAL,
  b NULL OPTIONAL, c NULL OPTIONAL, d NULL OPTIONAL, e NULL OPTIONAL, f NULL OPTIONAL,
  g NULL OPTIONAL, h NULL OPTIONAL, i NULL OPTIONAL, j NULL OPTIONAL, k NULL OPTIONAL,
  l NULL OPTIONAL, m NULL OPTIONAL, n NULL OPTIONAL, o NULL OPTIONAL, p NULL OPTIONAL,
  q NULL OPTIONAL, r NULL OPTIONAL, s NULL OPTIONAL, t NULL OPTIONAL, u NULL OPTIONAL,
  ...
}
END
"""
UES_OF_CONDITION: Final = 4
"""Report style: each UE that meets a condition (§7.4.5)."""


@cache
def _codec() -> Any:
    return asn1tools.compile_string(ASN1, "per")


def event_trigger(period_ms: int) -> bytes:
    """An event trigger definition: a report each `period_ms`."""
    formats = ("eventDefinition-Format1", {"reportingPeriod": period_ms})
    value = {"eventDefinition-formats": formats}
    return bytes(_codec().encode("E2SM-KPM-EventTriggerDefinition", value))


def action_definition(names: tuple[str, ...], period_ms: int, kpm_slice: SNssai) -> bytes:
    """An action definition: these measurements (3GPP TS 28.552) of each UE of a slice."""
    condition = {
        "testType": ("sNSSAI", "true"),
        "testExpr": "equal",
        "testValue": ("valueOctS", s_nssai(kpm_slice)),
    }
    measurements = {
        "measInfoList": [
            {"measType": ("measName", name), "labelInfoList": [{"measLabel": {"noLabel": "true"}}]}
            for name in names
        ],
        "granulPeriod": period_ms,
    }
    style_4 = {
        "matchingUeCondList": [{"testCondInfo": condition}],
        "subscriptionInfo": measurements,
    }
    value = {
        "ric-Style-Type": UES_OF_CONDITION,
        "actionDefinition-formats": ("actionDefinition-Format4", style_4),
    }
    return bytes(_codec().encode("E2SM-KPM-ActionDefinition", value))


def s_nssai(kpm_slice: SNssai) -> bytes:
    """SST in one octet, and SD in three where the slice has one (TS 23.003 §28.4.2)."""
    sd = b"" if kpm_slice.sd is None else kpm_slice.sd.to_bytes(3)
    return bytes((kpm_slice.sst,)) + sd
