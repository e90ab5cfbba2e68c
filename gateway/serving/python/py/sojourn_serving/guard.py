"""What all servers of a program share, and the way of its events to the event loop."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from sojourn_serving import _native
from sojourn_serving._native import Account, Caller, Refusal

Right = Literal["read", "subscribe", "control"]
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One line of the log."""

    level: Level
    logger: str
    """`audit` for the audit log without a file, else empty."""
    event: str
    fields: Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with its series."""

    name: str
    """The name without `_total`."""
    kind: Literal["counter", "gauge"]
    text: str
    labels: tuple[str, ...]
    values: Sequence[tuple[tuple[str, ...], float]]
    """Values by those of the labels."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files of a server, reread when they change."""

    certificate: Path
    key: Path
    client_ca: Path | None = None
    """CA certificates for those of clients, which gRPC then requires."""

    @property
    def files(self) -> tuple[Path, Path, Path | None]:
        """The files as the servers take them."""
        return self.certificate, self.key, self.client_ca


def check_certificates(section: str, files: Certificates) -> None:
    """Raise `SetupError` for files that cannot be used: `section.certificate_file: path: …`."""
    _native.check_certificates(section, *files.files)


class Server(Protocol):
    """What the guard hands events of a server to."""

    def begin(self, native: Any) -> Open:
        """A call or request has come."""
        ...

    def ended(self) -> None:
        """All connections have ended after a stop."""
        ...


class Open(Protocol):
    """A call or request that is not over."""

    def message(self, message: bytes) -> None:
        """A request message has come."""
        ...

    def end_of_requests(self, why: tuple[int, str] | None) -> None:
        """No more of them will come: at the end, or for an error."""
        ...

    def writable(self) -> None:
        """The connection takes messages again."""
        ...

    def gone(self) -> None:
        """The client has left."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    caller: Caller
    right: Right
    node_id: str
    on_lost: Callable[[Refusal], None]


def _no_log(_record: LogRecord) -> None:
    """Keeps no log."""


class Guard:
    """Access file, audit log, limits and metrics of a program. Files are reread each second."""

    def __init__(
        self,
        *,
        access_file: Path | None = None,
        audit_file: Path | None = None,
        log: Callable[[LogRecord], None] = _no_log,
    ) -> None:
        """`log` is called on the event loop, or, before there is one, within what causes the line.

        Raises `SetupError` for a file that cannot be used.
        """
        self._log = log
        self.native: Final = _native.Guard(access_file, audit_file)
        """The part in Rust, for the servers."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._servers: dict[int, Server] = {}
        self._open: dict[int, Open] = {}
        self._watches: set[_Watch] = set()
        # In the order of `to_python` in `src/guard.rs`.
        self._handlers: tuple[Callable[[int, Any], None], ...] = (
            self._on_message,
            self._on_begin,
            self._on_writable,
            self._on_end_of_requests,
            self._on_gone,
            self._on_message,
            self._on_access_changed,
            self._on_log,
            self._on_server_ended,
        )
        self.deliver()

    @property
    def limited(self) -> bool:
        """Whether there is an access file."""
        return self.native.limited

    def account(self, name: str) -> Account:
        """The account of the client with a name."""
        return self.native.account(name)

    def client_certificate(self, use: str, path: Path) -> None:
        """Watch the end of validity of a certificate that the program shows; `use` is where."""
        self.native.client_certificate(use, path)
        self.deliver()

    def start(self) -> None:
        """Reread changed files from now on, also without a server; on the running loop."""
        self._attach()
        self.native.start()

    def check(self) -> None:
        """Reread changed files now."""
        self.native.check()
        self.deliver()

    def metrics(self) -> list[Family]:
        """The metrics of now."""
        return [
            Family(
                name,
                "counter" if kind == "counter" else "gauge",
                text,
                tuple(labels),
                [(tuple(values), value) for values, value in samples],
            )
            for name, kind, text, labels, samples in self.native.metrics()
        ]

    @contextmanager
    def watch(
        self, caller: Caller, right: Right, node_id: str, on_lost: Callable[[Refusal], None]
    ) -> Iterator[None]:
        """Call `on_lost` when a reload of the access file takes the right from the caller."""
        watch = _Watch(caller, right, node_id, on_lost)
        self._watches.add(watch)
        try:
            yield
        finally:
            self._watches.discard(watch)

    def close(self) -> None:
        """End all servers at once; their handlers are cancelled."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self.native.fileno())
        self.native.close()
        for each in tuple(self._open.values()):
            each.gone()
        self.deliver()

    # ----------------------------------------------------------------- for the servers

    def add(self, number: int, server: Server) -> None:
        """Deliver the events of a server to it, on the running loop."""
        self._attach()
        self._servers[number] = server

    def _attach(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            loop.add_reader(self.native.fileno(), self.deliver)
        elif self._loop is not loop:
            raise RuntimeError("the servers of a guard share one event loop")

    def forget(self, number: int) -> None:
        """A call or request is over."""
        self._open.pop(number, None)

    def deliver(self) -> None:
        """Hand out the events that wait."""
        handlers = self._handlers
        for kind, number, value in self.native.drain():
            try:
                handlers[kind](number, value)
            except Exception as error:
                # Those behind it are of other calls.
                self.failed("event not handled", error)

    def failed(self, event: str, error: BaseException, **fields: str) -> None:
        """Log that a handler has failed."""
        shown = "".join(traceback.format_exception(error))
        self._log(LogRecord("error", "", event, {**fields, "exception": shown}))

    # ------------------------------------------------------------------------- events

    def _on_message(self, number: int, value: Any) -> None:
        if (found := self._open.get(number)) is not None:
            found.message(value)

    def _on_begin(self, number: int, value: Any) -> None:
        self._open[value.number] = self._servers[number].begin(value)

    def _on_writable(self, number: int, _value: Any) -> None:
        if (found := self._open.get(number)) is not None:
            found.writable()

    def _on_end_of_requests(self, number: int, value: Any) -> None:
        if (found := self._open.get(number)) is not None:
            found.end_of_requests(value)

    def _on_gone(self, number: int, _value: Any) -> None:
        if (found := self._open.get(number)) is not None:
            found.gone()

    def _on_access_changed(self, _number: int, _value: Any) -> None:
        for watch in tuple(self._watches):
            refusal = watch.caller.refusal(watch.right, watch.node_id, what="after a reload")
            if refusal is not None:
                try:
                    watch.on_lost(refusal)
                except Exception as error:
                    # The others lose their rights all the same.
                    self.failed("lost right not handled", error)

    def _on_log(self, _number: int, value: Any) -> None:
        self._log(LogRecord(*value))

    def _on_server_ended(self, number: int, _value: Any) -> None:
        self._servers[number].ended()
