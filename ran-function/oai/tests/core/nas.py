"""5G NAS messages (24.501) and their protection, over the codec of pycrate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final

from pycrate_mobile.NAS5G import parse_NAS5G
from pycrate_mobile.TS24501_FGMM import (
    FGMMAuthenticationRequest,
    FGMMDLNASTransport,
    FGMMMODeregistrationAccept,
    FGMMRegistrationAccept,
    FGMMRegistrationReject,
    FGMMSecurityModeCommand,
    FGMMServiceReject,
)
from pycrate_mobile.TS24501_FGSM import FGSMPDUSessionEstabAccept

from core import CoreError
from core.keys import NIA2, Challenge, nia2

EPD_5GMM: Final = 0x7E
PROTECTED_BYTES: Final = 7
"""Discriminator, security header type, MAC and sequence number."""
INTEGRITY_WITH_NEW, CIPHERED = 3, 2
CAUSE_ILLEGAL_UE, CAUSE_NOT_DERIVED = 3, 9
KSI: Final = 0
UPLINK_PAYLOAD_SM: Final = 1


@dataclass(frozen=True, slots=True)
class Flow:
    """A QoS flow of a PDU session; `dscp` names the packets that go to it, `None` all others."""

    qfi: int
    five_qi: int
    dscp: int | None = None


@dataclass(slots=True)
class Security:
    """A NAS security context with 128-NIA2 and no ciphering."""

    kamf: bytes
    key: bytes
    uplink_count: int = 0
    downlink_count: int = 0

    def protect(self, message: bytes, header: int = CIPHERED) -> bytes:
        """`message` with integrity protection."""
        numbered = bytes([self.downlink_count & 0xFF]) + message
        mac = nia2(self.key, self.downlink_count, True, numbered)
        self.downlink_count += 1
        return bytes([EPD_5GMM, header]) + mac + numbered

    def accept(self, message: bytes) -> None:
        """Takes the count of a protected message.

        Raises:
            CoreError: Its MAC is not that of its bytes.
        """
        number = message[PROTECTED_BYTES - 1]
        count = (self.uplink_count & ~0xFF) | number
        if count < self.uplink_count:
            count += 0x100
        if nia2(self.key, count, False, message[PROTECTED_BYTES - 1 :]) != message[2:6]:
            raise CoreError(f"NAS: the MAC of message {count} is wrong")
        self.uplink_count = count


def is_protected(message: bytes) -> bool:
    """Whether a message has a security header."""
    return len(message) > PROTECTED_BYTES and message[0] == EPD_5GMM and message[1] & 0xF != 0


def read(message: bytes) -> tuple[str, dict[str, Any]]:
    """Name and fields of a message, without its security header.

    Raises:
        CoreError: It is no 5G NAS message.
    """
    plain = message
    if is_protected(message):
        plain = message[PROTECTED_BYTES:]
        # OAI's UE has a security header type in the plain deregistration request as well.
        plain = plain[:1] + bytes(1) + plain[2:]
    parsed, error = parse_NAS5G(plain)
    if error or parsed is None:
        raise CoreError(f"NAS: {plain[:16].hex()}… is no message (error {error})")
    return parsed._name, parsed.get_val_d()


def imsi_of(identity: dict[str, Any]) -> str:
    """IMSI of a SUCI with the null scheme (24.501 §9.11.3.4).

    Raises:
        CoreError: It is another identity.
    """
    value = identity["Value"] if identity.get("Type") == 1 else None
    if not isinstance(value, dict) or value.get("ProtSchemeID") != 0:
        raise CoreError(f"NAS: identity {identity}; expected a SUCI of an IMSI, null scheme")
    digits = (f"{byte & 15:x}{byte >> 4:x}" for byte in value["PLMN"])
    mcc, mnc = (first := "".join(digits))[:3], first[4:] + first[3]
    msin = "".join(f"{byte & 15:x}{byte >> 4:x}" for byte in value["Output"])
    return (mcc + mnc + msin).replace("f", "")


def plmn(mcc: str, mnc: str) -> bytes:
    """A PLMN identity of three bytes (24.501 §9.11.3.4)."""
    third = mnc[2] if len(mnc) == 3 else "f"
    swapped = mcc[1] + mcc[0] + third + mcc[2] + mnc[1] + mnc[0]
    return bytes.fromhex(swapped)


def authentication_request(challenge: Challenge) -> bytes:
    """AUTHENTICATION REQUEST (24.501 §8.2.1)."""
    return _bytes(
        FGMMAuthenticationRequest(
            val={
                "NAS_KSI": KSI,
                "ABBA": bytes(2),
                "RAND": challenge.rand,
                "AUTN": challenge.autn,
            }
        )
    )


def security_mode_command(capabilities: bytes) -> bytes:
    """SECURITY MODE COMMAND (§8.2.25): 128-NIA2, no ciphering; `capabilities` are the UE's."""
    return _bytes(
        FGMMSecurityModeCommand(
            val={
                "NASSecAlgo": bytes([NIA2]),
                "NAS_KSI": KSI,
                "UESecCap": capabilities,
            }
        )
    )


def registration_accept(network: bytes, tac: int, tmsi: int) -> bytes:
    """REGISTRATION ACCEPT (§8.2.7); `network` is the PLMN, slice 1 is allowed."""
    guti = b"\xf2" + network + bytes([1, 0, 0x40]) + tmsi.to_bytes(4, "big")
    return _bytes(
        FGMMRegistrationAccept(
            val={
                "5GSRegResult": b"\x01",
                "GUTI": guti,
                "5GSTAIList": b"\x00" + network + tac.to_bytes(3, "big"),
                "AllowedNSSAI": b"\x01\x01",
            }
        )
    )


def registration_reject() -> bytes:
    """REGISTRATION REJECT (§8.2.9): the UE is not known here."""
    return _bytes(FGMMRegistrationReject(val={"5GMMCause": bytes([CAUSE_ILLEGAL_UE])}))


def service_reject() -> bytes:
    """SERVICE REJECT (§8.2.18), on which the UE registers again."""
    return _bytes(FGMMServiceReject(val={"5GMMCause": bytes([CAUSE_NOT_DERIVED])}))


def deregistration_accept() -> bytes:
    """DEREGISTRATION ACCEPT (§8.2.13)."""
    return _bytes(FGMMMODeregistrationAccept())


def session_accept(
    session: int, transaction: int, dnn: str, address: IPv4Address, flows: Sequence[Flow]
) -> bytes:
    """PDU SESSION ESTABLISHMENT ACCEPT (§8.3.2) in a DL NAS TRANSPORT (§8.2.11)."""
    rules = b"".join(_rule(number, flow) for number, flow in enumerate(flows, 1))
    # Operation `create`, one parameter: the 5QI (§9.11.4.12).
    described = b"".join(bytes([each.qfi, 0x20, 0x41, 1, 1, each.five_qi]) for each in flows)
    accepted = FGSMPDUSessionEstabAccept(
        val={
            "5GSMHeader": {"PDUSessID": session, "PTI": transaction},
            "SSCMode": 1,
            "PDUSessType": 1,
            "QoSRules": rules,
            "SessAMBR": b"\x06\x03\xe8\x06\x03\xe8",  # 1000 units of 1 Mbit/s, twice
            "PDUAddress": b"\x01" + address.packed,
            "SNSSAI": b"\x01",
            "QoSFlowDesc": described,
            "DNN": bytes([len(dnn)]) + dnn.encode(),
        }
    )
    return _bytes(
        FGMMDLNASTransport(
            val={
                "PayloadContainerType": UPLINK_PAYLOAD_SM,
                "PayloadContainer": _bytes(accepted),
                "PDUSessID": bytes([session]),
            }
        )
    )


def _rule(number: int, flow: Flow) -> bytes:
    """A QoS rule (§9.11.4.13) that is created: all packets, or those of a DSCP."""
    if flow.dscp is None:
        default, precedence, component = 1, 255, b"\x01"
    else:
        default, precedence, component = 0, number, bytes([0x70, flow.dscp << 2, 0xFC])
    packets = bytes([0x31, len(component)]) + component
    content = bytes([0x21 | default << 4]) + packets + bytes([precedence, flow.qfi])
    return bytes([number]) + len(content).to_bytes(2, "big") + content


def _bytes(message: Any) -> bytes:
    encoded: bytes = message.to_bytes()
    return encoded
