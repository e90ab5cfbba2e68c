"""The servers; `sojourn_serving` is the public module."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

class SetupError(ValueError):
    """A file, certificate or address that cannot be used: `place: what; expected …`."""

class Rate:
    """What a client may do in a time: a token bucket, full at first."""

    def __init__(self, limit: str, per_s: int, burst: int, what: str) -> None: ...
    @property
    def limit(self) -> str:
        """Value of the label `limit` of metrics."""
    @property
    def per_s(self) -> int: ...
    @property
    def burst(self) -> int: ...
    @property
    def what(self) -> str:
        """What is counted, in the plural."""

CALLS: Final[Rate]
REQUESTS: Final[Rate]
SCRAPES: Final[Rate]
REPORT_COST_BYTES: Final[int]
REPORT_SHARE_ALPHA: Final[int]

class Exceeded:
    """A limit that a client has reached."""

    @property
    def detail(self) -> str:
        """The sentence for the client."""
    @property
    def retry_s(self) -> float:
        """When it may come again."""

class Pool:
    """What all clients use together; one may hold up to `alpha` times what stays free."""

    def __init__(self, total: int, alpha: int = 1) -> None: ...
    @property
    def total(self) -> int: ...
    @property
    def held(self) -> int: ...

class Share:
    """What one client holds of a pool."""

    @property
    def held(self) -> int: ...
    def take(self, amount: int) -> bool:
        """Take unless the client would then hold more than its threshold."""
    def give(self, amount: int) -> None:
        """Return what was taken."""
    def change(self, by: int) -> None:
        """Hold more or less than before, as measured: the threshold does not matter."""

class Hold:
    """An amount held of a pool until `release`, or the last reference goes."""

    def correct(self, amount: int) -> None:
        """Hold what was measured, whatever the threshold."""
    def release(self) -> None:
        """May be called again."""

class Account:
    """The client whose limits count: by its name, else its address, on loopback and at a Unix
    socket its connection."""

    @property
    def key(self) -> str:
        """Tells clients apart."""
    @property
    def shown(self) -> str:
        """Its name in messages and metrics."""
    def take(self, rate: Rate, count: int = 1) -> Exceeded | None: ...
    def charge(self, rate: Rate, count: int) -> None:
        """Take as many, or all that are left."""
    def share(self, pool: Pool) -> Share: ...
    def hold(self, pool: Pool, what: str, amount: int = 1, *, label: str = "") -> Hold | Exceeded:
        """`what` is what the pool is of, in the plural; `label` that of the metric, if another."""
    def lost(self, pool: Pool, what: str, *, label: str = "") -> None:
        """Count what it lost to its share of a pool."""

class Refusal:
    """Why a client is refused."""

    @property
    def reason(self) -> Literal["unauthenticated", "right", "node"]: ...
    @property
    def detail(self) -> str:
        """The sentence for the client."""

class Caller:
    """The client of a call or request; each question is answered by the access file in force."""

    @property
    def who(self) -> str:
        """Its name for the audit log."""
    @property
    def name(self) -> str:
        """Its name by the access file or its certificate; empty without."""
    @property
    def address(self) -> str:
        """`host:port` or `unix`."""
    @property
    def audited(self) -> bool:
        """Whether what it does is logged."""
    @property
    def account(self) -> Account: ...
    def sees(self, node_id: str) -> bool:
        """Whether a node is listed for it."""
    def refusal(self, right: str, node_id: str = "", *, what: str = "") -> Refusal | None:
        """Why it may not, counted and audited; `what` is what it asked for."""
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

class Message:
    """Bytes that several calls are sent without a copy for each."""

    def __init__(self, data: bytes) -> None: ...
    def __len__(self) -> int: ...
    def __bytes__(self) -> bytes: ...

Files = tuple[Path, Path, Path | None]

class Guard:
    def __init__(self, access_file: Path | None, audit_file: Path | None) -> None: ...
    @property
    def limited(self) -> bool: ...
    def account(self, name: str) -> Account: ...
    def client_certificate(self, use: str, path: Path) -> None: ...
    def start(self) -> None: ...
    def check(self) -> None: ...
    def metrics(
        self,
    ) -> list[tuple[str, str, str, list[str], list[tuple[list[str], float]]]]: ...
    def fileno(self) -> int: ...
    def drain(self) -> list[tuple[int, int, Any]]: ...
    def close(self) -> None: ...

class Call:
    @property
    def number(self) -> int: ...
    @property
    def procedure(self) -> str: ...
    @property
    def caller(self) -> Caller: ...
    @property
    def metadata(self) -> Sequence[tuple[str, str]]: ...
    @property
    def request(self) -> bytes | None: ...
    def try_send(self, message: bytes | Message) -> bool: ...
    def taken(self) -> None: ...
    def finish(self, code: int = 0, detail: str = "") -> None: ...

class GrpcServer:
    def __init__(
        self,
        guard: Guard,
        section: str,
        listen: str,
        service: str,
        procedures: Mapping[str, tuple[str, bool, bool, int]],
        descriptors: bytes,
        files: Files | None,
        insecure: bool,
        max_connections: int,
        max_streams: int,
    ) -> None: ...
    @property
    def number(self) -> int: ...
    @property
    def address(self) -> str: ...
    @property
    def port(self) -> int: ...
    def start(self, guard: Guard) -> None: ...
    def set_ready(self, guard: Guard, ready: bool) -> None: ...
    def stop(self) -> bool: ...
    def cut(self) -> None: ...

class Request:
    @property
    def number(self) -> int: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def query(self) -> str: ...
    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def has_body(self) -> bool: ...
    @property
    def caller(self) -> Caller: ...
    def read(self) -> None: ...
    def respond(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None: ...
    def begin(self, status: int, headers: list[tuple[str, str]]) -> None: ...
    def try_send(self, message: bytes | Message) -> bool: ...
    def finish(self, *, failed: bool = False) -> None: ...
    def cut(self) -> None: ...

class HttpServer:
    def __init__(
        self,
        guard: Guard,
        section: str,
        label: str,
        listen: str,
        allowed_hosts: list[str],
        files: Files | None,
        insecure: bool,
        max_connections: int,
        max_body_bytes: int,
        problems: bool,
    ) -> None: ...
    @property
    def number(self) -> int: ...
    @property
    def address(self) -> str: ...
    def set_rate(self, path: str, rate: Rate) -> None: ...
    def start(self, guard: Guard) -> None: ...
    def stop(self) -> bool: ...
    def cut(self) -> None: ...

def check_access_file(path: Path) -> None:
    """Raise `SetupError` for an access file that cannot be used."""

def check_certificates(section: str, certificate: Path, key: Path, client_ca: Path | None) -> None:
    """Raise `SetupError` for certificates that cannot be used."""
