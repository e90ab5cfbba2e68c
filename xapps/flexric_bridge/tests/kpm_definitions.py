"""RAN function definitions of E2SM-KPM as nodes announce them."""

from __future__ import annotations

from collections.abc import Iterable

import asn1tools
from flexric_bridge.kpm_definition import ASN1, TYPE


def encode(measurements: Iterable[str], styles: Iterable[int] = (4,)) -> bytes:
    """A RAN function definition with these measurements under each of these report styles."""
    formats = {style: (style, min(style, 4), 2 if style == 1 else 3) for style in styles}
    fields = {
        "ranFunction-Name": {
            "ranFunction-ShortName": "ORAN-E2SM-KPM",
            "ranFunction-E2SM-OID": "1.3.6.1.4.1.53148.1.2.2.2",
            "ranFunction-Description": "KPM Monitor",
        },
        "ric-EventTriggerStyle-List": [
            {
                "ric-EventTriggerStyle-Type": 1,
                "ric-EventTriggerStyle-Name": "Periodic Report",
                "ric-EventTriggerFormat-Type": 1,
            }
        ],
        "ric-ReportStyle-List": [
            {
                "ric-ReportStyle-Type": number,
                "ric-ReportStyle-Name": f"Style {number}",
                "ric-ActionFormat-Type": action,
                "measInfo-Action-List": [{"measName": name} for name in measurements],
                "ric-IndicationHeaderFormat-Type": 1,
                "ric-IndicationMessageFormat-Type": message,
            }
            for number, action, message in formats.values()
        ],
    }
    return bytes(asn1tools.compile_string(ASN1, "per").encode(TYPE, fields))
