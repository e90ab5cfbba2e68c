"""Decisions at a program's servers by the access file, which is reread when it changes."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from sojourn_interfaces import MAX_IDENTIFIER_BYTES

from ric.access.audit import AuditLog
from ric.access.file import AccessList, Client, Right, read_access_file
from ric.access.refusal import Reason, Refusal
from ric.errors import SettingsError
from ric.limits import Account, Limits
from ric.terminal import escaped

ALL_NODES: Final = "*"
"""Node id for what concerns all nodes: a client needs a pattern that matches every node."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection, as the server sees it."""

    server: str
    """Name of the server, for metrics."""
    address: str
    names: tuple[str, ...] = ()
    """What a verified certificate is recognised by (`ric.certificates.certificate_names`)."""
    token: str | None = None
    must_be_certified: bool = False
    """Whether the server has a client CA: without an access file, only clients with a certificate
    are served."""

    @property
    def shown(self) -> str:
        """What it showed of its identity, without control characters."""
        if self.token is not None:
            return "token not known"
        if not self.names:
            return "no certificate and no token"
        return f"certificate {printable_text(', '.join(self.names))}"


@dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    caller: Caller
    right: Right
    node_id: str
    on_lost: Callable[[Refusal], None]


class Access:
    """The access file of a program, its refusals and its audit log.

    Without a file every client that reaches a server may do everything there.
    """

    def __init__(self, path: Path | None, audit: AuditLog, limits: Limits) -> None:
        """Raises `SettingsError` for a file that cannot be used."""
        self._path = path
        self.audit = audit
        self.limits = limits
        self.refused: Counter[tuple[str, Reason]] = Counter()
        """Number of refusals by server and reason."""
        self.reload_failures = 0
        self._rejected: list[str] = []
        self._watches: set[_Watch] = set()
        self.peers: dict[str, Peer] = {}
        """The clients behind a relay, by the address that its server sees."""
        self.list: AccessList | None = None
        self._digest = ""
        if path is not None:
            self.list, self._digest = read_access_file(path)
            _warn_of_writers(self.list)

    @property
    def limited(self) -> bool:
        """Whether there is an access file."""
        return self.list is not None

    def caller(self, peer: Peer) -> Caller:
        """The client at the other end of a connection."""
        return Caller(self, peer)

    def check(self) -> None:
        """Reread the file if it changed; one that cannot be used keeps the list in force."""
        if self._path is None:
            return
        try:
            found, digest = read_access_file(self._path)
        except SettingsError as error:
            if error.problems != self._rejected:
                self._rejected = error.problems
                self.reload_failures += 1
                _log.warning("access file refused, the list in force stays", error=str(error))
                self._audit_reload(f"rejected: {error.problems[0]}")
            return
        self._rejected = []
        if digest == self._digest:
            return
        self.list, self._digest = found, digest
        _warn_of_writers(found)
        _log.info("access file reloaded", file=str(self._path))
        self._audit_reload("accepted")
        for watch in tuple(self._watches):
            refusal = watch.caller.refusal(watch.right, watch.node_id, what="after a reload")
            if refusal is not None:
                watch.on_lost(refusal)

    def client_of(self, peer: Peer) -> Client | None:
        """The client of the access file."""
        return None if self.list is None else self.list.client_of(peer.names, peer.token)

    @contextmanager
    def watch(
        self, caller: Caller, right: Right, node_id: str, on_lost: Callable[[Refusal], None]
    ) -> Iterator[None]:
        """Call `on_lost` when a reload takes the right from the caller."""
        watch = _Watch(caller, right, node_id, on_lost)
        self._watches.add(watch)
        try:
            yield
        finally:
            self._watches.discard(watch)

    def _audit_reload(self, outcome: str) -> None:
        self.audit.write(who="", action="reload", what="access", outcome=outcome)


class Caller:
    """The client of a call or request: who it is, what it may do and use.

    Every question is answered by the list then in force.
    """

    def __init__(self, access: Access, peer: Peer) -> None:
        self._access = access
        self.peer = peer
        self._known: tuple[AccessList | None, Client | None] = (None, None)

    @property
    def who(self) -> str:
        """Its name for the audit log."""
        peer = self.peer
        if (client := self._client()) is not None:
            return client.name
        if self._access.limited:
            return peer.shown
        return printable_text(peer.names[0]) if peer.names else "local"

    @property
    def name(self) -> str:
        """Its name by the access file or its certificate; empty without."""
        if (client := self._client()) is not None:
            return client.name
        if not self._access.limited and self.peer.names:
            return printable_text(self.peer.names[0])
        return ""

    @property
    def address(self) -> str:
        """Address of its connection."""
        return self.peer.address

    @property
    def account(self) -> Account:
        """The client whose limits count: by its name, else its address.

        On loopback, where all clients have one address, each connection is a client.
        """
        return Account(self._access.limits, self.name or address_account(self.peer.address))

    @property
    def audited(self) -> bool:
        """Whether what it does is logged."""
        return self._access.audit.enabled

    def sees(self, node_id: str) -> bool:
        """Whether a node is listed for it."""
        if not self._access.limited:
            return True
        client = self._client()
        return client is not None and client.sees(node_id)

    def refusal(self, right: str, node_id: str = "", *, what: str = "") -> Refusal | None:
        """Why it may not use a `Right` (at a node), counted and audited; `None` if it may.

        `what` is what it asked for, for the audit log.
        """
        refusal = self._judge(Right(right), node_id)
        if refusal is not None:
            self._access.refused[self.peer.server, refusal.reason] += 1
            self._access.audit.refused(
                who=self.who, reason=refusal.detail, peer=self.peer.address, node=node_id, what=what
            )
        return refusal

    def watch(
        self, right: str, node_id: str, on_lost: Callable[[Refusal], None]
    ) -> AbstractContextManager[None]:
        """Call `on_lost` when a reload of the access file takes the right."""
        return self._access.watch(self, Right(right), node_id, on_lost)

    def audit(
        self,
        action: str,
        outcome: str,
        *,
        node: str = "",
        ran_function: str = "",
        what: str = "",
        limited: bool = False,
    ) -> None:
        """Write a line of the audit log; `limited` as refusals are, for what had no effect."""
        log = self._access.audit
        (log.attempted if limited else log.write)(
            who=self.who, peer=self.peer.address, action=action, node=node,
            ran_function=ran_function, what=what, outcome=outcome,
        )  # fmt: skip

    def _client(self) -> Client | None:
        """The client as the list in force has it."""
        if self._known[0] is not self._access.list:
            self._known = self._access.list, self._access.client_of(self.peer)
        return self._known[1]

    def _judge(self, right: Right, node_id: str) -> Refusal | None:
        peer = self.peer
        if not self._access.limited:
            if peer.must_be_certified and not peer.names:
                return Refusal("unauthenticated", f"unknown client: {peer.shown}")
            return None
        client = self._client()
        if client is None:
            return Refusal("unauthenticated", f"unknown client: {peer.shown}")
        if right not in client.rights:
            return Refusal("right", f"client {client.name}: no right to {right}")
        if node_id and not client.sees(node_id):
            node = printable_text(node_id)
            return Refusal("node", f"client {client.name}: no access to node {node}")
        return None


def _warn_of_writers(found: AccessList) -> None:
    for path in found.group_writable:
        _log.warning(
            "the group of this file may change who has access; expected chmod g-w", file=str(path)
        )


def address_account(address: str) -> str:
    """The client at an address without another identity: its host, of IPv6 its /64 network.

    A host of IPv6 has all addresses of the network (RFC 4291 §2.5.1). On loopback it is the
    address with the port.
    """
    host, colon, _ = address.rpartition(":")
    try:
        found = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host if colon else address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            network = ipaddress.ip_network((int(found), 64), strict=False)
            return address if found.is_loopback else str(network)
        found = found.ipv4_mapped
    return address if found.is_loopback else str(found)


def bearer_token(header: str) -> str:
    """The token of an `authorization` header, whose scheme has no case (RFC 9110 §11.1).

    Empty, and so no client's, for another scheme.
    """
    scheme, _, token = header.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def printable_text(text: str) -> str:
    """`text` for a message: control characters escaped, bounded."""
    most = MAX_IDENTIFIER_BYTES
    text = text[: most + 1]
    shown = escaped(text, kept="")
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
