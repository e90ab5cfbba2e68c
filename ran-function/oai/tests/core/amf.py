"""AMF and SMF: what the gNB and its UEs send is answered (23.502 §4.2.2, §4.3.2)."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface
from typing import Any, Final, Protocol, TextIO

from core import CoreError, keys, nas, ngap
from core.nas import Flow, Security
from core.ngap import Ids, Message, Tunnel
from core.transport import Association

MOST_UES: Final = 64
MOST_SESSIONS: Final = 4
"""PDU sessions of one UE."""
TAC: Final = 1
DNN: Final = "internet"
"""Data network of a UE that names none."""
SQN_STEP: Final = 32
"""A sequence number has an index of five bits (33.102 §C.1.1.1)."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Keys of a UE, 16 bytes each."""

    key: bytes
    opc: bytes


class Tunnels(Protocol):
    """What carries the packets of sessions: the user plane, or a test's own."""

    address: IPv4Address

    def add(self, ue: IPv4Address, uplink_teid: int, downlink: Tunnel, flows: Any) -> None:
        """Carries the packets of a UE's address."""

    def remove(self, ue: IPv4Address, uplink_teid: int) -> None:
        """Carries them no more."""


@dataclass(slots=True)
class Session:
    """A PDU session; `teid` is that of the uplink."""

    address: IPv4Address
    teid: int


@dataclass(slots=True)
class Ue:
    """A UE that the gNB has a context of."""

    ids: Ids
    stream: int
    imsi: str | None = None
    capabilities: bytes = b""
    challenge: keys.Challenge | None = None
    security: Security | None = None
    sessions: dict[int, Session] = field(default_factory=dict)


class Amf:
    """A gNB and its UEs."""

    def __init__(
        self,
        subscribers: Mapping[str, Subscriber],
        *,
        network: tuple[str, str],
        addresses: IPv4Interface,
        flows: Sequence[Flow],
        tunnels: Tunnels,
        log: TextIO,
    ) -> None:
        """`subscribers` by IMSI, `network` is MCC and MNC, `flows` are those of
        each PDU session.

        UEs have the addresses behind that of `addresses`. A line of JSON for each event goes to
        `log`.
        """
        self._subscribers, self._addresses, self._flows = subscribers, addresses, flows
        self._name, self._plmn = keys.serving_network(*network), nas.plmn(*network)
        self._tunnels, self._log = tunnels, log
        self._ues: dict[int, Ue] = {}
        self._last_id = 0
        self._sqn = int(time.time()) * SQN_STEP & ((1 << 43) - 1)
        self._leases: dict[tuple[str, int], IPv4Address] = {}

    async def serve(self, association: Association) -> None:
        """Answers a gNB until it leaves."""
        self._report("gnb_joined")
        while (received := await association.receive()) is not None:
            for stream, message in self.answer(*received):
                association.send(stream, message)
        for ue in list(self._ues.values()):
            self._forget(ue)
        self._report("gnb_left")

    def answer(self, stream: int, encoded: bytes) -> list[tuple[int, bytes]]:
        """What is sent when the gNB has sent `encoded`. What cannot be served is logged."""
        try:
            return list(self._answer(stream, Message.read(encoded)))
        except CoreError as error:
            self._report("refused", why=str(error))
            return []

    def _answer(self, stream: int, message: Message) -> Iterator[tuple[int, bytes]]:
        kind, procedure = message.kind, message.procedure
        if procedure == ngap.NG_SETUP:
            yield stream, ngap.setup_response(self._plmn)
            self._report("ng_setup")
            return
        ue = self._admit(stream, message) if procedure == ngap.INITIAL_UE else self._of(message)
        if ue is None:
            return
        if procedure in {ngap.INITIAL_UE, ngap.UPLINK_NAS}:
            yield from self._nas(ue, message.fields[ngap.NAS_PDU])
        elif procedure == ngap.RELEASE_REQUEST:
            self._report("release_requested", ue, cause=message.fields.get(ngap.CAUSE))
            yield ue.stream, ngap.context_release(ue.ids)
        elif procedure == ngap.SESSION_SETUP and kind == "successfulOutcome":
            self._set_up(ue, message)
        elif procedure == ngap.CONTEXT_RELEASE and kind == "successfulOutcome":
            self._forget(ue)
        elif kind == "unsuccessfulOutcome":
            self._report(
                "refused", ue, why=f"procedure {procedure}: {message.fields.get(ngap.CAUSE)}"
            )

    def _admit(self, stream: int, message: Message) -> Ue:
        if len(self._ues) >= MOST_UES:
            raise CoreError(f"{MOST_UES} UEs are here; expected no more")
        self._last_id += 1
        ue = Ue(Ids(self._last_id, message.fields[ngap.RAN_UE]), stream)
        self._ues[ue.ids.amf] = ue
        return ue

    def _of(self, message: Message) -> Ue | None:
        number = message.fields.get(ngap.AMF_UE)
        return self._ues.get(number) if isinstance(number, int) else None

    def _nas(self, ue: Ue, message: bytes) -> Iterator[tuple[int, bytes]]:
        if nas.is_protected(message) and ue.security is not None:
            ue.security.accept(message)
        name, fields = nas.read(message)
        handlers = {
            "5GMMRegistrationRequest": self._register,
            "5GMMAuthenticationResponse": self._authenticated,
            "5GMMSecurityModeComplete": self._secured,
            "5GMMRegistrationComplete": self._registered,
            "5GMMULNASTransport": self._establish,
            "5GMMServiceRequest": self._serve_again,
            "5GMMMODeregistrationRequest": self._deregister,
        }
        handler = handlers.get(name)
        if handler is None:
            self._report("ignored", ue, message=name)
            return
        for each in handler(ue, fields):
            yield ue.stream, each

    def _down(self, ue: Ue, message: bytes) -> bytes:
        return ngap.downlink_nas(ue.ids, message)

    def _register(self, ue: Ue, fields: dict[str, Any]) -> Iterator[bytes]:
        ue.imsi = nas.imsi_of(fields["5GSID"]["5GSID"])
        subscriber = self._subscribers.get(ue.imsi)
        if subscriber is None:
            self._report("refused", ue, why="no such subscriber")
            yield self._down(ue, nas.registration_reject())
            return
        ue.capabilities = _capabilities(fields)
        self._sqn += SQN_STEP
        rand = secrets.token_bytes(keys.BLOCK)
        ue.challenge = keys.Challenge.of(
            subscriber.key, subscriber.opc, rand, self._sqn, self._name
        )
        yield self._down(ue, nas.authentication_request(ue.challenge))

    def _authenticated(self, ue: Ue, fields: dict[str, Any]) -> Iterator[bytes]:
        answer = fields.get("RES", {}).get("V")
        if ue.challenge is None or ue.imsi is None or answer != ue.challenge.expected:
            raise CoreError(f"UE {ue.ids.amf}: RES* is not the one expected")
        kamf = ue.challenge.kamf(ue.imsi)
        ue.security = Security(kamf, keys.integrity_key(kamf))
        command = nas.security_mode_command(ue.capabilities)
        yield self._down(ue, ue.security.protect(command, nas.INTEGRITY_WITH_NEW))

    def _secured(self, ue: Ue, fields: dict[str, Any]) -> Iterator[bytes]:
        security = _security(ue)
        accept = nas.registration_accept(self._plmn, TAC, ue.ids.amf)
        key = keys.gnb_key(security.kamf, security.uplink_count)
        yield ngap.context_setup(ue.ids, self._plmn, ue.capabilities, key, security.protect(accept))

    def _registered(self, ue: Ue, fields: dict[str, Any]) -> Iterator[bytes]:
        self._report("registered", ue)
        yield from ()

    def _establish(self, ue: Ue, fields: dict[str, Any]) -> Iterator[bytes]:
        security = _security(ue)
        request = fields["PayloadContainer"].get("5GSMPDUSessionEstabRequest")
        if request is None:
            self._report("ignored", ue, message="5GSM, other than an establishment")
            return
        number, transaction = request["5GSMHeader"]["PDUSessID"], request["5GSMHeader"]["PTI"]
        if len(ue.sessions) >= MOST_SESSIONS:
            raise CoreError(f"UE {ue.ids.amf}: {MOST_SESSIONS} sessions; expected no more")
        dnn = _dnn(fields)
        address = self._lease(ue, number)
        session = ue.sessions[number] = Session(address, ue.ids.amf << 8 | number)
        flows = self._flows
        accepted = security.protect(nas.session_accept(number, transaction, dnn, address, flows))
        uplink = Tunnel(self._tunnels.address, session.teid)
        yield ngap.session_setup(ue.ids, number, uplink, flows, accepted)

    def _set_up(self, ue: Ue, message: Message) -> None:
        for number, downlink in ngap.sessions_set_up(message).items():
            if (session := ue.sessions.get(number)) is not None:
                self._tunnels.add(session.address, session.teid, downlink, self._flows)
                self._report("session", ue, session=number, address=str(session.address))

    def _serve_again(self, ue: Ue, fields: dict[str, Any]) -> Iterator[bytes]:
        yield self._down(ue, nas.service_reject())

    def _deregister(self, ue: Ue, fields: dict[str, Any]) -> Iterator[bytes]:
        self._report("deregistered", ue)
        if ue.security is not None:
            yield self._down(ue, ue.security.protect(nas.deregistration_accept()))
        yield ngap.context_release(ue.ids)

    def _lease(self, ue: Ue, number: int) -> IPv4Address:
        """The UE's address, which is the same when it comes again."""
        lease = (str(ue.imsi), number)
        if lease not in self._leases:
            self._leases[lease] = self._addresses.ip + 1 + len(self._leases)
        return self._leases[lease]

    def _forget(self, ue: Ue) -> None:
        for session in ue.sessions.values():
            self._tunnels.remove(session.address, session.teid)
        self._ues.pop(ue.ids.amf, None)
        self._report("released", ue)

    def _report(self, what: str, ue: Ue | None = None, **more: object) -> None:
        event: dict[str, object] = {"what": what}
        if ue is not None:
            event |= {"ue": ue.ids.amf, "gnb_ue": ue.ids.gnb, "imsi": ue.imsi}
        # A log that cannot be written is no reason to leave the gNB without a core.
        with suppress(OSError):
            self._log.write(json.dumps(event | more, default=str) + "\n")
            self._log.flush()


async def listen(amf: Amf, address: IPv4Address, port: int) -> asyncio.Server:
    """Serves gNBs, one at a time or several."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await amf.serve(Association(reader, writer))
        finally:
            writer.close()

    return await asyncio.start_server(accept, str(address), port)


def _security(ue: Ue) -> Security:
    if ue.security is None:
        raise CoreError(f"UE {ue.ids.amf}: it is not authenticated")
    return ue.security


def _capabilities(fields: dict[str, Any]) -> bytes:
    """Security capabilities as the UE sent them: a bit for each algorithm, four bytes at most."""
    found = fields.get("UESecCap", {}).get("UESecCap", {})
    bits = [int(value) for value in found.values() if isinstance(value, int)][:32]
    if len(bits) < 16:
        raise CoreError("NAS: no security capabilities; expected those of 5G")
    return bytes(
        sum(bit << (7 - at) for at, bit in enumerate(bits[begin : begin + 8]))
        for begin in range(0, len(bits), 8)
    )


def _dnn(fields: dict[str, Any]) -> str:
    labels = fields.get("DNN", {}).get("DNN", ())
    return ".".join(bytes(each["Value"]).decode(errors="replace") for each in labels) or DNN
