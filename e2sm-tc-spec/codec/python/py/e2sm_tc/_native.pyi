from collections.abc import Iterator, Sequence
from typing import Any

OID_V0: str
OID_V1: str

class CodecError(ValueError):
    element: str
    cause: str

class ValidationError(CodecError): ...

def codec_error(message: str, element: str) -> CodecError: ...
def encode(encoding: str, kind: str, value: str) -> bytes: ...
def decode(encoding: str, kind: str, data: bytes) -> str: ...
def validate(kind: str, value: str) -> None: ...
def forecast_feed(
    origin_us: int,
    points_us: Sequence[int],
    single_us: int,
    quantiles: Sequence[float],
    rows: Sequence[
        tuple[int, int, Sequence[float], Sequence[float] | None, Sequence[float] | None]
    ],
) -> bytes: ...
def pacer_limits(data: bytes) -> tuple[list[int], list[int], list[int]]: ...

class PipelineStatus:
    """``PipelineStatus`` of a report. Immutable."""

    @property
    def rnti(self) -> int | None:
        """C-RNTI; ``None`` if the UE is identified otherwise."""
    @property
    def drb(self) -> int: ...
    @property
    def revision(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> int | None:
        """`pipeline_digest` of the pipeline in force."""
    @property
    def safe(self) -> bool: ...
    @property
    def lease_left_ms(self) -> int | None: ...
    @property
    def owner(self) -> str | None: ...
    @property
    def head_of_line_age_us(self) -> int: ...
    @property
    def by_default(self) -> tuple[int, int, int] | None:
        """Revision of the node default, position of its rule, and age in ms; ``None`` if the
        pipeline in force is not from there."""
    @property
    def qos(self) -> tuple[list[int], tuple[int, int | None] | None]:
        """5QIs and S-NSSAI (SST, SD) of what the bearer carries, as far as the node knows."""
    @property
    def qos_flows(self) -> tuple[int, list[int]] | None:
        """Revision of the UE's mapping of QoS flows, and QFIs that the bearer carries; ``None``
        where they cannot move to other DRBs."""
    @property
    def dropped_packets(self) -> int: ...
    @property
    def queues(self) -> list[QueueStatus]: ...
    def ungreedy_queues(self, used: Sequence[int] | None, /) -> list[QueueStatus]:
        """The queues that ungreedy flows use: those of ``used``, in which an inventory has such
        flows; without an inventory all but the one that forwarded most, if there are several."""
    def ungreedy_sojourn_us(self, used: Sequence[int] | None, /) -> int:
        """The longest sojourn in them: the mean over 100 ms, or the last where packets wait and
        none left; 0 without such queues."""

class UngreedyQueues:
    """The queues that ungreedy flows of bearers use, by inventories."""

    def __init__(self) -> None: ...
    def set(self, rnti: int, drb: int, queues: Sequence[int] | None, /) -> None:
        """Queues of a bearer; ``None`` if no inventory has flows of it."""

class PipelineStatuses:
    """The statuses of all bearers of a report. Immutable; objects are created when asked for."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[PipelineStatus]: ...
    def __getitem__(self, row: int, /) -> PipelineStatus: ...
    def changed_since(self, former: PipelineStatuses, /) -> list[int] | None:
        """The rows that show another pipeline in force than in an earlier report: revision, name,
        digest, ``safe``, owner, or rule of the node default; ``None`` if the bearers or their order
        differ."""
    def rows(self, used: UngreedyQueues, /) -> bytes:
        """See ``e2sm_tc.status_rows``."""

class QueueStatus:
    """``QueueStatus`` of a report. Immutable."""

    @property
    def id(self) -> int: ...
    @property
    def backlog_bytes(self) -> int: ...
    @property
    def forwarded_bytes(self) -> int: ...
    @property
    def forwarded_packets(self) -> int: ...
    @property
    def dropped_packets(self) -> int: ...
    @property
    def marked_packets(self) -> int: ...
    @property
    def mean_sojourn_us(self) -> int: ...
    @property
    def last_sojourn_us(self) -> int: ...

class FlowInventory:
    """``FlowInventory`` of a report. Immutable."""

    @property
    def rnti(self) -> int | None:
        """C-RNTI; ``None`` if the UE is identified otherwise."""
    @property
    def drb(self) -> int: ...
    @property
    def active_flows(self) -> int: ...
    @property
    def flows(self) -> list[FlowRecord]: ...

class FlowRecord:
    """``FlowRecord`` of a report. Immutable."""

    @property
    def five_tuple(self) -> tuple[str, str, int, int, int]:
        """Source and destination address, source and destination port, protocol."""
    @property
    def qfi(self) -> int | None: ...
    @property
    def ecn(self) -> str: ...
    @property
    def rate_kbps(self) -> int: ...
    @property
    def mean_packet_bytes(self) -> int: ...
    @property
    def backlog_bytes(self) -> int: ...
    @property
    def queue(self) -> int: ...
    @property
    def inelastic(self) -> str | None:
        """What the scheduler ``inelastic_first`` decided (E2SM-TC v1 §6.3), if anything."""

def decode_indication(data: bytes) -> tuple[str, Any]:
    """Style, and objects of the bearers or events as JSON."""

FORMER_TEMPLATES: dict[str, str]
TEMPLATES: list[str]

class TemplateError(ValueError):
    parameter: str
    detail: str

class Asked:
    """A node lease that was admitted."""

class Owners:
    """Which client each owner of a node is (E2SM-TC v1 §7.4). Times are in µs of one clock."""

    def __init__(self) -> None: ...
    def admit(
        self, node_id: str, message: bytes, client: tuple[str, str, bytes], now_us: int, /
    ) -> tuple[bytes | None, Asked | None]:
        """Whether a client may send a node this control.

        ``client``: name (empty if unknown), address of the connection, instance (may be empty).
        Gives the refusal as a control outcome, or ``None``, and the node lease to be answered, if
        it is one. Raises ``ValueError`` for an instance that is too long.
        """
    def answered(self, asked: Asked, outcome: bytes | None, now_us: int, /) -> None:
        """Take in the outcome of a node lease, once; ``None``: it took no effect."""
    def lost(self, asked: Asked, now_us: int, /) -> None:
        """Take in that the outcome is unknown: the lease may have been taken."""

class PipelineError(ValueError):
    cause: str
    element: str
    detail: str

def template_schema(name: str) -> str: ...
def pipeline(template: str, parameters: str) -> str: ...
def candidate(current: str, safe: str, change: str, capabilities: str) -> str: ...
def check_pipeline(pipeline: str, capabilities: str) -> None: ...
def greedy_flows(
    loads: Sequence[tuple[int, int]],
    /,
    *,
    fair_share_ratio: float,
    min_rate_kbps: int,
    min_backlog_bytes: int,
) -> list[bool]:
    """Whether each flow of a bearer is greedy, of rates in kbit/s and backlogs in bytes; the others
    are sparse (RFC 8290 §4.1)."""

def greedy_defaults() -> tuple[float, int, int]:
    """Bounds of `greedy_flows` unless a policy has others, in the order of its parameters."""

class UnsupportedInV0(PipelineError): ...  # noqa: N818 - a property of the pipeline
class V0ControlError(ValueError): ...

class V0State:
    """The pipeline of a v0 node: lowered, after acknowledged controls, or reported. Immutable."""

    @staticmethod
    def safe(queue: int = 0) -> V0State:
        """The safe pipeline: one FIFO, no pacer."""

    @staticmethod
    def observed(indication: bytes) -> V0State:
        """The pipeline of a v0 indication. Raises ``CodecError`` for bytes that do not decode and
        for an indication without queues."""

    @property
    def base(self) -> int:
        """The lowest queue, the target of packets that match no filter."""

    @property
    def name(self) -> str:
        """Name of the v1 pipeline; ``foreign`` for a reported one that is not the safe pipeline."""

    @property
    def is_safe(self) -> bool:
        """Whether it is the safe pipeline, as far as v0 reports it."""

    def agrees_with(self, seen: V0State) -> bool:
        """Whether a reported pipeline may be this one, as far as v0 reports it."""

    def controls_to(self, target: V0State) -> list[list[bytes]]:
        """The v0 controls that lead to ``target``, in order, in groups of independent controls.
        Raises ``V0ControlError`` if v0 cannot number the target's queues."""

    def after(self, control: bytes) -> V0State:
        """The state after an acknowledged control. Raises ``V0ControlError`` for one that a node in
        this state refuses, ``CodecError`` for bytes that do not decode."""

    def to_json(self) -> str:
        """``pipeline`` in v1, its parts that are ``unknown`` because v0 does not report them, and
        the ``v1_ids`` of its queues."""

class V0Reports:
    """The newest report of a v0 node, and counters extended beyond 32 bits."""

    def __init__(self) -> None: ...
    def take(self, indication: bytes) -> None:
        """Take the next report, in the order of their time stamps. Raises ``CodecError``."""

    def status(self, state: V0State, context: str) -> str | None:
        """See :func:`e2sm_tc.v0.lift`."""

def lower(pipeline: str, base: int, max_queues: int, max_filters: int) -> V0State: ...
def v0_capabilities(max_queues: int, max_filters: int) -> str: ...
def queue_numbers(shaper_ids: list[int]) -> list[int]: ...
