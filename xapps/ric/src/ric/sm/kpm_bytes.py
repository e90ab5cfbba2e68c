"""Bytes of E2SM-KPM indications (aligned PER), of versions 2 and 3, as JSON values.

For looking at what a node sends: `ric-sm decode --sm kpm`. The gateway types reports itself
(`ric.sm.kpm`). Needs the Python module asn1tools (`sojourn-ric[kpm]`).

The versions differ in the time stamp of the header, 4 or 8 octets, and in the conditions of message
format 2; formats 1 and 3 are alike, so that nothing in them tells the version.
"""

from __future__ import annotations

import functools
import importlib
import math
from datetime import UTC, datetime
from typing import Any, Final, Literal

from ric.errors import ServiceModelError, ServiceModelUnavailable

__all__ = ["KINDS", "MAX_BYTES", "Kind", "decode"]

Kind = Literal["indication-header", "indication"]
KINDS: Final[tuple[Kind, ...]] = ("indication-header", "indication")
MAX_BYTES: Final = 64 * 1024
"""Longest header or message that is read."""

_TYPES: Final = {
    "indication-header": "E2SM-KPM-IndicationHeader",
    "indication": "E2SM-KPM-IndicationMessage",
}

# The part of E2SM-KPM-IEs (O-RAN.WG3.E2SM-KPM §8.3) and of E2SM-COMMON-IEs (O-RAN.WG3.E2SM §9) of
# which indications consist. Strings are PrintableString there, which aligned PER encodes as
# IA5String; nodes send other characters. Time stamp and conditions follow by version.
_ASN1: Final = """
E2SM-KPM-Indication DEFINITIONS AUTOMATIC TAGS ::= BEGIN
E2SM-KPM-IndicationHeader ::= SEQUENCE {
  indicationHeader-formats CHOICE {
    indicationHeader-Format1 SEQUENCE {
      colletStartTime TimeStamp,
      fileFormatversion IA5String (SIZE (0..15, ...)) OPTIONAL,
      senderName IA5String (SIZE (0..400, ...)) OPTIONAL,
      senderType IA5String (SIZE (0..8, ...)) OPTIONAL,
      vendorName IA5String (SIZE (0..32, ...)) OPTIONAL,
      ...
    },
    ...
  },
  ...
}
E2SM-KPM-IndicationMessage ::= SEQUENCE {
  indicationMessage-formats CHOICE {
    indicationMessage-Format1 Measurements,
    indicationMessage-Format2 SEQUENCE {
      measData MeasurementData,
      measCondUEidList SEQUENCE (SIZE (1..65535)) OF SEQUENCE {
        measType MeasurementType,
        matchingCond SEQUENCE (SIZE (1..32768)) OF MatchingCondItem,
        matchingUEidList SEQUENCE (SIZE (1..65535)) OF SEQUENCE { ueID UEID, ... } OPTIONAL,
        ...
      },
      granulPeriod GranularityPeriod OPTIONAL,
      ...
    },
    ...,
    indicationMessage-Format3 SEQUENCE {
      ueMeasReportList SEQUENCE (SIZE (1..65535)) OF SEQUENCE {
        ueID UEID,
        measReport Measurements,
        ...
      },
      ...
    }
  },
  ...
}
Measurements ::= SEQUENCE {
  measData MeasurementData,
  measInfoList SEQUENCE (SIZE (1..65535)) OF SEQUENCE {
    measType MeasurementType,
    labelInfoList SEQUENCE (SIZE (1..2147483647)) OF SEQUENCE {
      measLabel MeasurementLabel,
      ...
    },
    ...
  } OPTIONAL,
  granulPeriod GranularityPeriod OPTIONAL,
  ...
}
MeasurementData ::= SEQUENCE (SIZE (1..65535)) OF SEQUENCE {
  measRecord SEQUENCE (SIZE (1..2147483647)) OF CHOICE {
    integer INTEGER (0..4294967295),
    real REAL,
    noValue NULL,
    ...
  },
  incompleteFlag ENUMERATED { true, ... } OPTIONAL,
  ...
}
MeasurementType ::= CHOICE {
  measName IA5String (SIZE (1..150, ...)),
  measID INTEGER (1..65536, ...),
  ...
}
GranularityPeriod ::= INTEGER (1..4294967295)
MeasurementLabel ::= SEQUENCE {
  noLabel ENUMERATED { true, ... } OPTIONAL,
  plmnID OCTET STRING (SIZE (3)) OPTIONAL,
  sliceID SEQUENCE {
    sST OCTET STRING (SIZE (1)),
    sD OCTET STRING (SIZE (3)) OPTIONAL,
    ...
  } OPTIONAL,
  fiveQI INTEGER (0..255, ...) OPTIONAL,
  qFI INTEGER (0..63, ...) OPTIONAL,
  qCI INTEGER (0..255) OPTIONAL,
  qCImax INTEGER (0..255) OPTIONAL,
  qCImin INTEGER (0..255) OPTIONAL,
  aRPmax INTEGER (1..15, ...) OPTIONAL,
  aRPmin INTEGER (1..15, ...) OPTIONAL,
  bitrateRange INTEGER (1..65535, ...) OPTIONAL,
  layerMU-MIMO INTEGER (1..65535, ...) OPTIONAL,
  sUM ENUMERATED { true, ... } OPTIONAL,
  distBinX INTEGER (1..65535, ...) OPTIONAL,
  distBinY INTEGER (1..65535, ...) OPTIONAL,
  distBinZ INTEGER (1..65535, ...) OPTIONAL,
  preLabelOverride ENUMERATED { true, ... } OPTIONAL,
  startEndInd ENUMERATED { start, end, ... } OPTIONAL,
  min ENUMERATED { true, ... } OPTIONAL,
  max ENUMERATED { true, ... } OPTIONAL,
  avg ENUMERATED { true, ... } OPTIONAL,
  ...
}
MatchingCond ::= CHOICE {
  measLabel MeasurementLabel,
  testCondInfo SEQUENCE {
    testType CHOICE {
      gBR Present,
      aMBR Present,
      isStat Present,
      isCatM Present,
      rSRP Present,
      rSRQ Present,
      ...,
      ul-rSRP Present,
      cQI Present,
      fiveQI Present,
      qCI Present,
      sNSSAI Present
    },
    testExpr ENUMERATED { equal, greaterthan, lessthan, contains, present, ... } OPTIONAL,
    testValue CHOICE {
      valueInt INTEGER,
      valueEnum INTEGER,
      valueBool BOOLEAN,
      valueBitS BIT STRING,
      valueOctS OCTET STRING,
      valuePrtS IA5String,
      ...,
      valueReal REAL
    } OPTIONAL,
    ...
  },
  ...
}
Present ::= ENUMERATED { true, ... }
Uint32 ::= INTEGER (0..4294967295)
PLMNIdentity ::= OCTET STRING (SIZE (3))
RANUEID ::= OCTET STRING (SIZE (8))
GUAMI ::= SEQUENCE {
  pLMNIdentity PLMNIdentity,
  aMFRegionID BIT STRING (SIZE (8)),
  aMFSetID BIT STRING (SIZE (10)),
  aMFPointer BIT STRING (SIZE (6)),
  ...
}
E1APIDs ::= SEQUENCE (SIZE (1..65535)) OF SEQUENCE { gNB-CU-CP-UE-E1AP-ID Uint32, ... }
GlobalENB-ID ::= SEQUENCE {
  pLMNIdentity PLMNIdentity,
  eNB-ID CHOICE {
    macro-eNB-ID BIT STRING (SIZE (20)),
    home-eNB-ID BIT STRING (SIZE (28)),
    ...,
    short-Macro-eNB-ID BIT STRING (SIZE (18)),
    long-Macro-eNB-ID BIT STRING (SIZE (21))
  },
  ...
}
UEID ::= CHOICE {
  gNB-UEID SEQUENCE {
    amf-UE-NGAP-ID INTEGER (0..1099511627775),
    guami GUAMI,
    gNB-CU-UE-F1AP-ID-List SEQUENCE (SIZE (1..4)) OF SEQUENCE {
      gNB-CU-UE-F1AP-ID Uint32,
      ...
    } OPTIONAL,
    gNB-CU-CP-UE-E1AP-ID-List E1APIDs OPTIONAL,
    ran-UEID RANUEID OPTIONAL,
    m-NG-RAN-UE-XnAP-ID Uint32 OPTIONAL,
    globalGNB-ID SEQUENCE {
      pLMNIdentity PLMNIdentity,
      gNB-ID CHOICE { gNB-ID BIT STRING (SIZE (22..32)), ... },
      ...
    } OPTIONAL,
    ...
  },
  gNB-DU-UEID SEQUENCE { gNB-CU-UE-F1AP-ID Uint32, ran-UEID RANUEID OPTIONAL, ... },
  gNB-CU-UP-UEID SEQUENCE { gNB-CU-CP-UE-E1AP-ID Uint32, ran-UEID RANUEID OPTIONAL, ... },
  ng-eNB-UEID SEQUENCE {
    amf-UE-NGAP-ID INTEGER (0..1099511627775),
    guami GUAMI,
    ng-eNB-CU-UE-W1AP-ID Uint32 OPTIONAL,
    m-NG-RAN-UE-XnAP-ID Uint32 OPTIONAL,
    globalNgENB-ID SEQUENCE {
      pLMNIdentity PLMNIdentity,
      ngENB-ID CHOICE {
        macroNgENB-ID BIT STRING (SIZE (20)),
        shortMacroNgENB-ID BIT STRING (SIZE (18)),
        longMacroNgENB-ID BIT STRING (SIZE (21)),
        ...
      },
      ...
    } OPTIONAL,
    ...
  },
  ng-eNB-DU-UEID SEQUENCE { ng-eNB-CU-UE-W1AP-ID Uint32, ... },
  en-gNB-UEID SEQUENCE {
    m-eNB-UE-X2AP-ID INTEGER (0..4095),
    m-eNB-UE-X2AP-ID-Extension INTEGER (0..4095, ...) OPTIONAL,
    globalENB-ID GlobalENB-ID,
    gNB-CU-UE-F1AP-ID Uint32 OPTIONAL,
    gNB-CU-CP-UE-E1AP-ID-List E1APIDs OPTIONAL,
    ran-UEID RANUEID OPTIONAL,
    ...
  },
  eNB-UEID SEQUENCE {
    mME-UE-S1AP-ID Uint32,
    gUMMEI SEQUENCE {
      pLMN-Identity PLMNIdentity,
      mME-Group-ID OCTET STRING (SIZE (2)),
      mME-Code OCTET STRING (SIZE (1)),
      ...
    },
    m-eNB-UE-X2AP-ID INTEGER (0..4095) OPTIONAL,
    m-eNB-UE-X2AP-ID-Extension INTEGER (0..4095, ...) OPTIONAL,
    globalENB-ID GlobalENB-ID OPTIONAL,
    ...
  },
  ...
}
"""
_OF_VERSION: Final = {
    2: """
TimeStamp ::= OCTET STRING (SIZE (4))
MatchingCondItem ::= MatchingCond
END
""",
    3: """
TimeStamp ::= OCTET STRING (SIZE (8))
MatchingCondItem ::= SEQUENCE {
  matchingCondChoice MatchingCond,
  logicalOR Present OPTIONAL,
  ...
}
END
""",
}
_NTP_EPOCH_S: Final = 2_208_988_800
"""1900 to 1970 (RFC 5905 §6)."""
_PLAUSIBLE_S: Final = range(1_420_070_400, 2_524_608_000)
"""2015 to 2050."""


@functools.cache
def _codec(version: int) -> Any:
    return _asn1tools().compile_string(_ASN1 + _OF_VERSION[version], "per")


def _asn1tools() -> Any:
    try:
        return importlib.import_module("asn1tools")
    except ModuleNotFoundError:
        raise ServiceModelUnavailable("kpm", "asn1tools") from None


def decode(kind: Kind, data: bytes) -> dict[str, Any]:
    """An indication header or message: `versions`, of which the bytes are an encoding, and the
    content by the names of the standard; octets as hexadecimal digits, bits as digits, a value that
    the node does not have as `None`. The time of a header is shown for each way of writing time
    that gives a date from 2015 to 2050, as nodes differ.

    Raises `ServiceModelError` for bytes that are an encoding of neither version,
    `ServiceModelUnavailable` without asn1tools. Time is bounded by `MAX_BYTES`.
    """
    if len(data) > MAX_BYTES:
        raise ServiceModelError("kpm", kind, f"{len(data)} bytes", f"at most {MAX_BYTES}")
    read, refused = {}, {}
    for version in _OF_VERSION:
        try:
            read[version] = _decode(version, kind, data)
        except _Refused as refusal:
            refused[version] = str(refusal)
    if not read:
        why = "; ".join(f"version {version}: {reason}" for version, reason in refused.items())
        raise ServiceModelError("kpm", kind, why, f"{_TYPES[kind]} of version 2 or 3")
    content = read[max(read)]
    if kind == "indication-header":
        octets = bytes.fromhex(content["indicationHeader-Format1"]["colletStartTime"])
        whole, first = int.from_bytes(octets, "big"), int.from_bytes(octets[:4], "big")
        readings = {
            "NTP": first - _NTP_EPOCH_S,
            "Unix seconds": first,
            "Unix seconds, little-endian": int.from_bytes(octets[:4], "little"),
            "Unix milliseconds": whole // 1000,
            "Unix microseconds": whole // 1_000_000,
        }
        content["time"] = {
            name: datetime.fromtimestamp(unix_s, UTC).isoformat()
            for name, unix_s in readings.items()
            if unix_s in _PLAUSIBLE_S
        }
    return {"versions": sorted(read), **content}


class _Refused(Exception):  # noqa: N818 - says what happened
    """Bytes that one version does not read."""


def _decode(version: int, kind: Kind, data: bytes) -> dict[str, Any]:
    ((_, (name, content)),) = _read(version, kind, data).items()
    if name is None:
        raise _Refused("a format that this version does not have")
    # asn1tools does not say where an encoding ends: here, if its last byte cannot be left out.
    try:
        _read(version, kind, data[:-1])
    except _Refused:
        shown: dict[str, Any] = {name: _shown(content)}
        return shown
    raise _Refused("the encoding ends before the last byte")


def _read(version: int, kind: Kind, data: bytes) -> dict[str, Any]:
    codec = _codec(version)
    try:
        decoded: dict[str, Any] = codec.decode(_TYPES[kind], data)
    # What asn1tools raises for invalid bytes.
    except (
        _asn1tools().Error,
        ValueError,
        IndexError,
        OverflowError,
        NotImplementedError,
    ) as error:
        raise _Refused(str(error) or type(error).__name__) from None
    return decoded


def _shown(value: Any) -> Any:
    """A decoded value as JSON."""
    match value:
        case dict():
            shown: Any = {name: _shown(content) for name, content in value.items()}
        case list():
            shown = [_shown(element) for element in value]
        case bytes():
            shown = value.hex()
        case (bytes() as octets, int() as bits):
            shown = "".join(f"{octet:08b}" for octet in octets)[:bits]
        case ("integer" | "real", number):
            shown = _shown(number)
        case ("noValue", _):
            shown = None
        case (name, content):
            shown = {str(name): _shown(content)}
        case str():
            # Nodes in C include the closing zero.
            shown = value.rstrip("\0")
        case float() if not math.isfinite(value):
            shown = str(value)
        case int() if abs(value) >= 2**64:
            shown = hex(value)
        case _:
            shown = value
    return shown
