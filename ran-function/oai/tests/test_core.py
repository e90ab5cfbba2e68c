"""The core network of OAI's tests, without OAI: keys, messages, a UE that comes and goes."""

from __future__ import annotations

import io
import json
from ipaddress import IPv4Address, IPv4Interface
from typing import Any

import pytest

pytest.importorskip(
    "pycrate_asn1dir", reason="pycrate is not installed; it encodes NGAP and 5G NAS"
)
from core import CoreError, keys, nas, ngap
from core.amf import Amf, Subscriber
from core.nas import Flow
from core.ngap import Message, Tunnel
from core.user_plane import HEADER, Session, decapsulated
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC
from pycrate_asn1dir import NGAP
from pycrate_mobile import TS24501_FGMM as FGMM
from pycrate_mobile import TS24501_FGSM as FGSM

MCC, MNC, IMSI = "208", "99", "208990100001100"
KEY = bytes.fromhex("fec86ba6eb707ed08905757b1bb44b8f")
OPC = bytes.fromhex("C42449363BBAD02B66D16BC975D77CC1")
CAPABILITIES = bytes.fromhex("f0f0f0f0")
PLMN = nas.plmn(MCC, MNC)
FLOWS = (Flow(1, 9), Flow(2, 7, 46))
GNB_TUNNEL = Tunnel(IPv4Address("127.0.0.1"), 77)


def test_milenage_has_the_results_of_35_208() -> None:
    """Test set 1."""
    found = keys.Milenage.of(
        bytes.fromhex("465b5ce8b199b49faa5f0a2ee238a6bc"),
        bytes.fromhex("cd63cb71954a9f4e48a5994e37a02baf"),
        bytes.fromhex("23553cbe9637a89d218ae64dae47bf35"),
        bytes.fromhex("ff9bb4d0b607"),
        bytes.fromhex("b9b9"),
    )
    assert found.mac.hex() == "4a9ffac354dfafb3"
    assert found.res.hex() == "a54211d5e3ba50bf"
    assert found.ck.hex() == "b40ba9a3c58b2a05bbf0d987b21bf8cb"
    assert found.ik.hex() == "f769bcd751044604127672711c6d3441"
    assert found.ak.hex() == "aa689c648370"


def test_integrity_is_that_of_the_count_the_direction_and_the_bytes() -> None:
    """128-NIA2: CMAC over COUNT, BEARER and DIRECTION in 8 bytes, and the message (33.501 §D.3)."""
    key, message = bytes(range(16)), b"message"
    made = {keys.nia2(key, count, down, message) for count in (0, 1) for down in (False, True)}
    assert len(made) == 4
    cmac = CMAC(AES(key))
    cmac.update(bytes([0, 0, 1, 2, 0x0C, 0, 0, 0]) + message)
    assert keys.nia2(key, 0x102, True, message) == cmac.finalize()[:4]


@pytest.mark.parametrize(
    "text", ["", "00", "7e00", "7e0041", "ff" * 40, "7e004179000d0102f899" + "00" * 40]
)
def test_bytes_that_are_no_message_are_refused(text: str) -> None:
    with pytest.raises(CoreError, match=r"NGAP: .* is no message"):
        Message.read(bytes.fromhex(text))


class Ue:
    """The UE's side of registration and session, and the gNB's NGAP around it."""

    def __init__(self, amf: Amf, imsi: str = IMSI, key: bytes = KEY, gnb_id: int = 1) -> None:
        self.amf, self.imsi, self.key, self.gnb_id = amf, imsi, key, gnb_id
        self.security: nas.Security | None = None
        self.amf_id: int | None = None
        self.context_key: bytes | None = None

    def send(self, message: bytes, protect: int | None = nas.CIPHERED) -> list[Message]:
        if self.security is not None and protect is not None:
            count = self.security.uplink_count
            numbered = bytes([count & 0xFF]) + message
            mac = keys.nia2(self.security.key, count, False, numbered)
            message = bytes([nas.EPD_5GMM, protect]) + mac + numbered
            self.security.uplink_count += 1
        location = (
            "userLocationInformationNR",
            {
                "nR-CGI": {"pLMNIdentity": PLMN, "nRCellIdentity": (1, 36)},
                "tAI": {"pLMNIdentity": PLMN, "tAC": b"\0\0\1"},
            },
        )
        elements = [
            (ngap.RAN_UE, "RAN-UE-NGAP-ID", self.gnb_id),
            (ngap.NAS_PDU, "NAS-PDU", message),
            (121, "UserLocationInformation", location),
        ]
        if self.amf_id is None:
            elements.append((90, "RRCEstablishmentCause", "mo-Data"))
            return self.pass_on(ngap.INITIAL_UE, "InitialUEMessage", elements)
        elements.insert(0, (ngap.AMF_UE, "AMF-UE-NGAP-ID", self.amf_id))
        return self.pass_on(ngap.UPLINK_NAS, "UplinkNASTransport", elements)

    def pass_on(
        self,
        procedure: int,
        name: str,
        elements: list[tuple[int, str, Any]],
        kind: str = "initiatingMessage",
    ) -> list[Message]:
        ies = [{"id": n, "criticality": "ignore", "value": (t, v)} for n, t, v in elements]
        value = {
            "procedureCode": procedure,
            "criticality": "ignore",
            "value": (name, {"protocolIEs": ies}),
        }
        pdu = NGAP.NGAP_PDU_Descriptions.NGAP_PDU
        pdu.set_val((kind, value))
        answers = [Message.read(each) for _, each in self.amf.answer(1, pdu.to_aper())]
        for answer in answers:
            self.amf_id = answer.fields.get(ngap.AMF_UE, self.amf_id)
        return answers

    def received(self, message: bytes) -> tuple[str, dict[str, Any]]:
        """Name and fields of a NAS message, whose MAC is the network's."""
        if nas.is_protected(message):
            assert self.security is not None
            count = message[6]
            assert keys.nia2(self.security.key, count, True, message[6:]) == message[2:6]
        return nas.read(message)

    def register(self) -> tuple[str, dict[str, Any]]:
        """Registers; the network's last NAS message."""
        msin = bytes.fromhex(self.imsi[5:])
        swapped = bytes((byte & 15) << 4 | byte >> 4 for byte in msin)
        suci = b"\x01" + PLMN + b"\x00\x00\x00\x00" + swapped
        request = FGMM.FGMMRegistrationRequest(
            val={"NAS_KSI": 7, "5GSRegType": 9, "5GSID": suci, "UESecCap": CAPABILITIES}
        )
        (answer,) = self.send(request.to_bytes(), None)
        name, fields = self.received(answer.fields[ngap.NAS_PDU])
        if name != "5GMMAuthenticationRequest":
            return name, fields
        rand, autn = fields["RAND"]["V"], fields["AUTN"]["AUTN"]
        ak = keys.Milenage.of(self.key, OPC, rand, bytes(6), keys.AMF_FIELD).ak
        sqn = bytes(a ^ b for a, b in zip(autn["SQNxAK"], ak, strict=True))
        expected = keys.Challenge.of(
            self.key, OPC, rand, int.from_bytes(sqn, "big"), keys.serving_network(MCC, MNC)
        )
        answers = self.send(
            FGMM.FGMMAuthenticationResponse(val={"RES": expected.expected}).to_bytes(), None
        )
        if not answers:
            return "", {}
        kamf = expected.kamf(self.imsi)
        self.security = nas.Security(kamf, keys.integrity_key(kamf))
        name, fields = self.received(answers[0].fields[ngap.NAS_PDU])
        assert name == "5GMMSecurityModeCommand"
        assert fields["NASSecAlgo"]["NASSecAlgo"] == {"CiphAlgo": 0, "IntegAlgo": keys.NIA2}
        (answer,) = self.send(FGMM.FGMMSecurityModeComplete().to_bytes(), 4)
        assert answer.procedure == ngap.CONTEXT_SETUP
        self.context_key = answer.fields[94][0].to_bytes(32, "big")
        name, fields = self.received(answer.fields[ngap.NAS_PDU])
        self.send(FGMM.FGMMRegistrationComplete().to_bytes())
        return name, fields

    def establish(self, session: int) -> Message:
        request = FGSM.FGSMPDUSessionEstabRequest(
            val={"5GSMHeader": {"PDUSessID": session, "PTI": 3}, "PDUSessType": 1}
        )
        (answer,) = self.send(
            FGMM.FGMMULNASTransport(
                val={
                    "PayloadContainerType": 1,
                    "PayloadContainer": request.to_bytes(),
                    "PDUSessID": bytes([session]),
                    "DNN": b"\x03oai",
                }
            ).to_bytes()
        )
        tunnel = {"uPTransportLayerInformation": GNB_TUNNEL.value()}
        flows = {"associatedQosFlowList": [{"qosFlowIdentifier": 1}]}
        transfer = (
            "PDUSessionResourceSetupResponseTransfer",
            {"dLQosFlowPerTNLInformation": tunnel | flows},
        )
        done = {
            "pDUSessionID": session,
            "pDUSessionResourceSetupResponseTransfer": transfer,
        }
        self.pass_on(
            ngap.SESSION_SETUP,
            "PDUSessionResourceSetupResponse",
            [
                (ngap.AMF_UE, "AMF-UE-NGAP-ID", self.amf_id),
                (ngap.RAN_UE, "RAN-UE-NGAP-ID", self.gnb_id),
                (ngap.SESSIONS_SET_UP, "PDUSessionResourceSetupListSURes", [done]),
            ],
            "successfulOutcome",
        )
        return answer


class Tunnels:
    """Tunnels that carry nothing."""

    address = IPv4Address("127.0.0.2")

    def __init__(self) -> None:
        self.open: dict[IPv4Address, tuple[int, Tunnel]] = {}

    def add(self, ue: IPv4Address, uplink_teid: int, downlink: Tunnel, flows: Any) -> None:
        self.open[ue] = uplink_teid, downlink

    def remove(self, ue: IPv4Address, uplink_teid: int) -> None:
        self.open.pop(ue, None)


@pytest.fixture
def tunnels() -> Tunnels:
    return Tunnels()


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def amf(tunnels: Tunnels, log: io.StringIO) -> Amf:
    subscribers = {IMSI: Subscriber(KEY, OPC), IMSI[:-1] + "1": Subscriber(KEY, OPC)}
    return Amf(
        subscribers,
        network=(MCC, MNC),
        addresses=IPv4Interface("10.45.0.1/24"),
        flows=FLOWS,
        tunnels=tunnels,
        log=log,
    )


def events(log: io.StringIO) -> list[str]:
    return [json.loads(line)["what"] for line in log.getvalue().splitlines()]


def test_a_ue_registers_gets_two_sessions_and_its_addresses_again(
    amf: Amf, tunnels: Tunnels, log: io.StringIO
) -> None:
    ue = Ue(amf)
    name, fields = ue.register()
    assert name == "5GMMRegistrationAccept"
    assert fields["AllowedNSSAI"]["NSSAI"] == [{"Len": 1, "SNSSAI": {"SST": 1}}]
    assert ue.security is not None
    assert ue.context_key == keys.gnb_key(ue.security.kamf, 0)
    for session in (1, 2):
        asked = ue.establish(session)
        (resource,) = asked.fields[74]
        _, accept = ue.received(resource["pDUSessionNAS-PDU"])
        accepted = accept["PayloadContainer"]["5GSMPDUSessionEstabAccept"]
        assert accepted["5GSMHeader"]["PDUSessID"] == session
        assert [rule["Flow"]["QFI"] for rule in accepted["QoSRules"]["QoSRules"]] == [1, 2]
        transfer = resource["pDUSessionResourceSetupRequestTransfer"][1]["protocolIEs"]
        flows = {each["id"]: each["value"][1] for each in transfer}[136]
        assert [each["qosFlowIdentifier"] for each in flows] == [1, 2]
    first = dict(tunnels.open)
    assert set(first) == {IPv4Address("10.45.0.2"), IPv4Address("10.45.0.3")}
    assert {downlink for _, downlink in first.values()} == {GNB_TUNNEL}
    leaving = FGMM.FGMMMODeregistrationRequest(
        val={"NAS_KSI": 0, "DeregistrationType": 1, "5GSID": b"\xf2" + bytes(10)}
    )
    answers = ue.send(leaving.to_bytes())
    assert [each.procedure for each in answers] == [ngap.DOWNLINK_NAS, ngap.CONTEXT_RELEASE]
    ids = [
        (ngap.AMF_UE, "AMF-UE-NGAP-ID", ue.amf_id),
        (ngap.RAN_UE, "RAN-UE-NGAP-ID", ue.gnb_id),
    ]
    ue.pass_on(ngap.CONTEXT_RELEASE, "UEContextReleaseComplete", ids, "successfulOutcome")
    assert tunnels.open == {}
    again = Ue(amf, gnb_id=2)
    again.register()
    again.establish(1)
    assert list(tunnels.open) == [IPv4Address("10.45.0.2")]
    assert again.amf_id != ue.amf_id
    wanted = ["registered", "session", "session", "deregistered", "released"]
    assert events(log) == [*wanted, "registered", "session"]


def test_a_security_header_type_in_a_protected_message_is_ignored() -> None:
    """OAI's UE sets it in its deregistration request."""
    leaving = FGMM.FGMMMODeregistrationRequest(
        val={"NAS_KSI": 0, "DeregistrationType": 1, "5GSID": b"\xf2" + bytes(10)}
    ).to_bytes()
    inside = leaving[:1] + bytes([nas.INTEGRITY_WITH_NEW]) + leaving[2:]
    header = bytes([nas.EPD_5GMM, nas.CIPHERED]) + bytes(nas.PROTECTED_BYTES - 2)
    assert nas.read(header + inside) == nas.read(leaving)


def test_ues_beside_each_other_have_their_own_addresses(amf: Amf, tunnels: Tunnels) -> None:
    for number in (0, 1):
        ue = Ue(amf, IMSI[:-1] + str(number), gnb_id=number + 1)
        ue.register()
        ue.establish(1)
    assert len(tunnels.open) == 2
    assert len({teid for teid, _ in tunnels.open.values()}) == 2


def test_a_ue_that_is_not_a_subscriber_is_rejected(amf: Amf, log: io.StringIO) -> None:
    name, _ = Ue(amf, "208990100009999").register()
    assert name == "5GMMRegistrationReject"
    assert "no such subscriber" in log.getvalue()


def test_a_ue_with_another_key_is_not_authenticated(amf: Amf, log: io.StringIO) -> None:
    assert Ue(amf, key=bytes(16)).register() == ("", {})
    assert "RES* is not the one expected" in log.getvalue()


def test_a_message_with_a_wrong_mac_is_refused(amf: Amf, log: io.StringIO) -> None:
    ue = Ue(amf)
    ue.register()
    assert ue.security is not None
    ue.security.key = bytes(16)
    assert ue.send(FGMM.FGMMRegistrationComplete().to_bytes()) == []
    assert "the MAC of message" in log.getvalue()


def test_packets_go_to_the_flow_that_their_dscp_names() -> None:
    session = Session(GNB_TUNNEL, FLOWS)
    for dscp, qfi in ((0, 1), (46, 2), (10, 1)):
        packet = bytes([0x45, dscp << 2]) + bytes(30)
        message = session.encapsulated(packet)
        assert message[HEADER.size + 6] == qfi
        assert decapsulated(message) == (GNB_TUNNEL.teid, packet)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "34ff",
        "30ff000a00000001aabb",  # longer than there is
        "34ff000800000001000000850000",  # an extension header of no length
        "34ff000800000001000000850900010000000000",  # an extension header beyond the end
        "3001000400000001aabbccdd",  # an echo request
        "14ff000400000001aabbccdd",  # version 0
        "30ff000000000001",  # nothing within
    ],
)
def test_what_is_no_g_pdu_is_left_out(text: str) -> None:
    assert decapsulated(bytes.fromhex(text)) is None
