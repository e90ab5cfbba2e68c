"""NGAP messages (38.413), over the codec of pycrate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final

from pycrate_asn1dir import NGAP
from pycrate_core.utils import PycrateErr

from core import CoreError
from core.nas import Flow

PDU: Final = NGAP.NGAP_PDU_Descriptions.NGAP_PDU
NG_SETUP, DOWNLINK_NAS, CONTEXT_SETUP, SESSION_SETUP, CONTEXT_RELEASE = 21, 4, 14, 29, 41
INITIAL_UE, UPLINK_NAS, RELEASE_REQUEST = 15, 46, 42
AMF_UE, RAN_UE = 10, 85
NAS_PDU, CAUSE, SESSIONS_SET_UP, RELEASED_IDS = 38, 15, 75, 114
REJECT, IGNORE = "reject", "ignore"
AMBR: Final = {
    "uEAggregateMaximumBitRateDL": 1_000_000_000,
    "uEAggregateMaximumBitRateUL": 1_000_000_000,
}
SLICE: Final = {"sST": b"\x01"}


@dataclass(frozen=True, slots=True)
class Message:
    """A message: `initiatingMessage`, `successfulOutcome` or `unsuccessfulOutcome`, and its IEs by
    their identifiers."""

    kind: str
    procedure: int
    fields: dict[int, Any]

    @classmethod
    def read(cls, encoded: bytes) -> Message:
        """The message of these bytes.

        Raises:
            CoreError: They are none.
        """
        try:
            PDU.from_aper(encoded)
            kind, value = PDU.get_val()
            elements = value["value"][1]["protocolIEs"]
        except (PycrateErr, KeyError, IndexError, TypeError, ValueError) as error:
            raise CoreError(f"NGAP: {encoded[:16].hex()}… is no message: {error}") from error
        return cls(
            kind, value["procedureCode"], {each["id"]: each["value"][1] for each in elements}
        )


@dataclass(frozen=True, slots=True)
class Ids:
    """Identifiers of a UE at AMF and gNB."""

    amf: int
    gnb: int

    def elements(self) -> tuple[tuple[int, str, str, Any], ...]:
        """The IEs that name the UE in a message."""
        return (
            (AMF_UE, REJECT, "AMF-UE-NGAP-ID", self.amf),
            (RAN_UE, REJECT, "RAN-UE-NGAP-ID", self.gnb),
        )


@dataclass(frozen=True, slots=True)
class Tunnel:
    """An end of a GTP-U tunnel."""

    address: IPv4Address
    teid: int

    def value(self) -> tuple[str, dict[str, Any]]:
        """`UPTransportLayerInformation` of this end."""
        bits = (int(self.address), 32)
        return "gTPTunnel", {
            "transportLayerAddress": bits,
            "gTP-TEID": self.teid.to_bytes(4, "big"),
        }


def guami(network: bytes) -> dict[str, Any]:
    """Identity of this AMF: region 1, set 1, pointer 0."""
    return {
        "pLMNIdentity": network,
        "aMFRegionID": (1, 8),
        "aMFSetID": (1, 10),
        "aMFPointer": (0, 6),
    }


def setup_response(network: bytes) -> bytes:
    """NG SETUP RESPONSE of an AMF with one PLMN and slice 1."""
    supported = [{"pLMNIdentity": network, "sliceSupportList": [{"s-NSSAI": SLICE}]}]
    return _encode(
        *("successfulOutcome", NG_SETUP, REJECT, "NGSetupResponse"),
        (1, REJECT, "AMFName", "test"),
        (96, REJECT, "ServedGUAMIList", [{"gUAMI": guami(network)}]),
        (86, IGNORE, "RelativeAMFCapacity", 255),
        (80, REJECT, "PLMNSupportList", supported),
    )


def downlink_nas(ue: Ids, message: bytes) -> bytes:
    """DOWNLINK NAS TRANSPORT."""
    return _encode(
        *("initiatingMessage", DOWNLINK_NAS, IGNORE, "DownlinkNASTransport"),
        *ue.elements(),
        (NAS_PDU, REJECT, "NAS-PDU", message),
    )


def context_setup(ue: Ids, network: bytes, capabilities: bytes, key: bytes, nas: bytes) -> bytes:
    """INITIAL CONTEXT SETUP REQUEST; `capabilities` are those of NAS, `key` is K_gNB."""
    # Bits of NEA0 and NIA0 are left out (38.413 §9.3.1.86).
    ea, ia, eea, eia = (((byte << 1 & 0xFF) << 8, 16) for byte in (*capabilities, 0, 0, 0)[:4])
    security = {
        "nRencryptionAlgorithms": ea,
        "nRintegrityProtectionAlgorithms": ia,
        "eUTRAencryptionAlgorithms": eea,
        "eUTRAintegrityProtectionAlgorithms": eia,
    }
    return _encode(
        *("initiatingMessage", CONTEXT_SETUP, REJECT, "InitialContextSetupRequest"),
        *ue.elements(),
        (110, REJECT, "UEAggregateMaximumBitRate", AMBR),
        (28, REJECT, "GUAMI", guami(network)),
        (0, REJECT, "AllowedNSSAI", [{"s-NSSAI": SLICE}]),
        (119, REJECT, "UESecurityCapabilities", security),
        (94, REJECT, "SecurityKey", (int.from_bytes(key, "big"), 256)),
        (NAS_PDU, IGNORE, "NAS-PDU", nas),
    )


def session_setup(
    ue: Ids, session: int, uplink: Tunnel, flows: Sequence[Flow], nas: bytes
) -> bytes:
    """PDU SESSION RESOURCE SETUP REQUEST with one IPv4 session."""
    arp = {
        "priorityLevelARP": 8,
        "pre-emptionCapability": "shall-not-trigger-pre-emption",
        "pre-emptionVulnerability": "not-pre-emptable",
    }
    wanted = [
        {
            "qosFlowIdentifier": flow.qfi,
            "qosFlowLevelQosParameters": {
                "qosCharacteristics": ("nonDynamic5QI", {"fiveQI": flow.five_qi}),
                "allocationAndRetentionPriority": arp,
            },
        }
        for flow in flows
    ]
    transfer = _elements(
        (139, REJECT, "UPTransportLayerInformation", uplink.value()),
        (134, REJECT, "PDUSessionType", "ipv4"),
        (136, REJECT, "QosFlowSetupRequestList", wanted),
    )
    resource = {
        "pDUSessionID": session,
        "pDUSessionNAS-PDU": nas,
        "s-NSSAI": SLICE,
        "pDUSessionResourceSetupRequestTransfer": (
            "PDUSessionResourceSetupRequestTransfer",
            {"protocolIEs": transfer},
        ),
    }
    return _encode(
        *("initiatingMessage", SESSION_SETUP, REJECT, "PDUSessionResourceSetupRequest"),
        *ue.elements(),
        (74, REJECT, "PDUSessionResourceSetupListSUReq", [resource]),
        (110, IGNORE, "UEAggregateMaximumBitRate", AMBR),
    )


def context_release(ue: Ids) -> bytes:
    """UE CONTEXT RELEASE COMMAND."""
    pair = {"aMF-UE-NGAP-ID": ue.amf, "rAN-UE-NGAP-ID": ue.gnb}
    return _encode(
        *("initiatingMessage", CONTEXT_RELEASE, REJECT, "UEContextReleaseCommand"),
        (RELEASED_IDS, REJECT, "UE-NGAP-IDs", ("uE-NGAP-ID-pair", pair)),
        (CAUSE, IGNORE, "Cause", ("nas", "normal-release")),
    )


def sessions_set_up(message: Message) -> dict[int, Tunnel]:
    """Sessions of a PDU SESSION RESOURCE SETUP RESPONSE with the gNB's end of their tunnels."""
    found = {}
    for each in message.fields.get(SESSIONS_SET_UP, ()):
        transfer = each["pDUSessionResourceSetupResponseTransfer"][1]
        layer = transfer["dLQosFlowPerTNLInformation"]["uPTransportLayerInformation"][1]
        teid = int.from_bytes(layer["gTP-TEID"], "big")
        found[each["pDUSessionID"]] = Tunnel(IPv4Address(layer["transportLayerAddress"][0]), teid)
    return found


def _elements(*elements: tuple[int, str, str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": number, "criticality": criticality, "value": (name, value)}
        for number, criticality, name, value in elements
    ]


def _encode(
    kind: str,
    procedure: int,
    criticality: str,
    name: str,
    *elements: tuple[int, str, str, Any],
) -> bytes:
    content = {"protocolIEs": _elements(*elements)}
    PDU.set_val(
        (
            kind,
            {
                "procedureCode": procedure,
                "criticality": criticality,
                "value": (name, content),
            },
        )
    )
    encoded: bytes = PDU.to_aper()
    return encoded
