"""A model of a node on virtual time: one RLC FIFO per bearer, flows of constant rate, and a TC RAN
function with revisions and leases.

Bytes are fluid. Under the safe pipeline everything goes to the RLC at once. Under another one the
RLC is held at `PACED_MS` of the link and the rest waits in the pipeline's queues: one for all
(`bdp_only`), or the greedy flow's and the others'. CoDel queues are trimmed to `CODEL_MS`, shapers
slow the greedy queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ric.sm import mac, rlc, tc
from tc_controller.core.actions import Action, SaveDesired, SendControl, WriteRecord
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import (
    FlowReport,
    MacReport,
    NodeDown,
    NodeUp,
    Outcome,
    PipelineReport,
    RlcReport,
    parse_outcome,
)

NODE = "gnb-1"
RNTI, DRB = 0x4601, 1
PACED_MS, CODEL_MS = 3, 20
PRB_PER_MS = 106.0

RLC_FIELDS = (
    *("txpdu_bytes", "txbuf_occ_bytes", "txsdu_avg_time_to_tx", "txsdu_wt_us"),
    *("rnti", "rbid"),
)


def rlc_message(*bearers: tuple[float, ...]) -> bytes:
    """An RLC report with the `RLC_FIELDS` of each bearer; µs."""
    rows = rlc.zeros(len(bearers))
    for name, column in zip(RLC_FIELDS, zip(*bearers, strict=True), strict=False):
        rows[name] = column
    return rlc.encode(rows, 0)


def mac_message(*ues: tuple[int, int]) -> bytes:
    """A MAC report with C-RNTI and PRBs of each UE."""
    rows = mac.zeros(len(ues))
    for row, (rnti, prbs) in zip(rows, ues, strict=True):
        row["rnti"], row["dl_aggr_prb"] = rnti, prbs
    return mac.encode(rows, 0)


def statuses(*items: dict[str, Any]) -> Any:
    """The E2SM-TC ``PipelineStatus`` of each JSON shape, as the core is given them."""
    return tc.decode_indication(tc.encode("indication", {"pipeline_status": items}))[1]


def inventories(*items: dict[str, Any]) -> Any:
    """The same of each ``FlowInventory``."""
    return tc.decode_indication(tc.encode("indication", {"flow_inventory": items}))[1]


@dataclass
class Source:
    """A flow of constant rate."""

    name: str
    kbps: int
    port: int
    protocol: int = 6
    ecn: str = "not-ect"
    packet_bytes: int = 1500
    qfi: int | None = None
    inelastic: str | None = None

    def record(self, rate_kbps: int, backlog: int, queue: int) -> dict[str, Any]:
        return {
            "flow": {
                "source": "10.0.0.1",
                "destination": "10.1.0.2",
                "source_port": self.port,
                "destination_port": 5000,
                "protocol": self.protocol,
            },
            "qfi": self.qfi,
            "dscp": 0,
            "ecn": self.ecn,
            "rate_kbps": rate_kbps,
            "mean_packet_bytes": self.packet_bytes,
            "backlog_bytes": backlog,
            "queue": queue,
            "inelastic": self.inelastic,
        }


def bulk(kbps: int = 60_000, port: int = 443) -> Source:
    return Source("bulk", kbps, port)


def ping() -> Source:
    return Source("ping", 40, 0, protocol=1, packet_bytes=84)


@dataclass
class Fifo:
    """Bytes with their arrival time."""

    parts: deque[list[float]] = field(default_factory=deque)
    bytes: float = 0.0

    def put(self, size: float, at_us: int) -> None:
        if size > 0:
            self.parts.append([size, at_us])
            self.bytes += size

    def take(self, size: float) -> float:
        taken = 0.0
        while self.parts and taken < size:
            part = self.parts[0]
            piece = min(part[0], size - taken)
            taken += piece
            part[0] -= piece
            if part[0] <= 1e-9:
                self.parts.popleft()
        self.bytes = max(0.0, self.bytes - taken)
        if not self.parts:
            self.bytes = 0.0
        return taken

    def age_us(self, now_us: int) -> int:
        return int(now_us - self.parts[0][1]) if self.parts else 0


@dataclass
class TcFunction:
    """The TC RAN function of one bearer."""

    revision: int = 1
    pipeline: dict[str, Any] | None = None
    lease_until_us: int | None = None
    #: What leases fall back to; ``None``: the initial pipeline.
    safe: dict[str, Any] | None = None
    in_safe: bool = True
    owner: str | None = None
    digest: int | None = None
    refuse: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None
    applied: list[tuple[int, dict[str, Any] | None]] = field(default_factory=list)
    renewals: list[int] = field(default_factory=list)

    def control(self, message: dict[str, Any], now_us: int) -> dict[str, Any]:
        refusal = self.refuse(message)
        if refusal is not None:
            return {"refused": {"element": "", "detail": "", "revision": self.revision, **refusal}}
        if "lease_renewal" in message:
            renewal = message["lease_renewal"]
            if renewal["revision"] != self.revision:
                return self._stale()
            self.renewals.append(now_us)
            self.lease_until_us = now_us + renewal["lease_ms"] * 1000
            return {"accepted": {"revision": self.revision, "lease_ms": renewal["lease_ms"]}}
        if "node_lease" in message:
            return {"accepted": {"revision": 1, "lease_ms": message["node_lease"]["lease_ms"]}}
        change = message["transaction"]
        expected = change["expected_revision"]
        if expected is not None and expected != self.revision:
            return self._stale()
        lease_ms = None if change["dry_run"] else self._change(change, now_us)
        return {"accepted": {"revision": self.revision, "lease_ms": lease_ms}}

    def _change(self, change: dict[str, Any], now_us: int) -> int | None:
        """Carry out a transaction; returns the lease."""
        kind, lease_ms = change["change"], change["lease_ms"]
        if kind == "initial":
            self.safe = None
        elif change["as_safe"]:
            self.safe = kind["replace"]
        if change["as_safe"] or kind in ("safe", "initial"):
            self.restore(now_us)
            return None
        self.install(kind["replace"], now_us, change["owner"])
        self.lease_until_us = None if lease_ms is None else now_us + lease_ms * 1000
        return int(lease_ms)

    def restart(self) -> None:
        """All is forgotten; revisions begin anew."""
        self.pipeline, self.safe, self.in_safe = None, None, True
        self.revision, self.lease_until_us, self.owner, self.digest = 1, None, None, None

    def install(
        self, pipeline: dict[str, Any] | None, now_us: int, owner: str | None = None
    ) -> None:
        self.pipeline, self.owner, self.in_safe = pipeline, owner, pipeline is None
        self.digest = None if pipeline is None else tc.digest(pipeline)
        self.revision += 1
        self.applied.append((now_us, pipeline))

    def expire(self, now_us: int) -> None:
        if self.lease_until_us is not None and now_us >= self.lease_until_us:
            self.restore(now_us)

    def restore(self, now_us: int) -> None:
        """Return to the safe pipeline."""
        self.install(self.safe, now_us)
        self.lease_until_us, self.in_safe = None, True

    def names(self) -> list[str]:
        """Names of what was installed, in order."""
        return ["safe" if p is None else p["name"] for _, p in self.applied]

    def _stale(self) -> dict[str, Any]:
        return {
            "refused": {
                "cause": "stale_revision",
                "element": "expected_revision",
                "detail": "",
                "revision": self.revision,
            }
        }


class NodeModel:
    """Flows, RLC and pipeline of one bearer."""

    def __init__(self, *sources: Source, link_kbps: int = 40_000, start_us: int = 0) -> None:
        self.sources = list(sources)
        self.link_kbps = link_kbps
        self.now_us = start_us
        self.reset()
        self.hol_us: list[int] = []

    def reset(self) -> None:
        """Restart: pipelines, queues and counters begin anew."""
        self.tc = TcFunction()
        self.rlc = Fifo()
        self.queues: dict[int, Fifo] = {0: Fifo(), 1: Fifo()}
        self.rlc_bytes = 0.0
        self.prbs = 0.0

    def advance(self) -> None:
        """One ms passes."""
        self.now_us += 1_000
        self.tc.expire(self.now_us)
        self._move()

    def _move(self) -> None:
        link = self.link_kbps / 8.0
        pipeline = self.tc.pipeline
        for source in self.sources:
            size = source.kbps / 8.0
            if pipeline is None:
                self.rlc.put(size, self.now_us)
            else:
                self.queues[self._queue_of(source)].put(size, self.now_us)
        if pipeline is None:
            for queue in self.queues.values():
                self._forward(queue, queue.bytes)
        else:
            self._pace(pipeline, link)
        sent = self.rlc.take(link)
        self.rlc_bytes += sent
        self.prbs += PRB_PER_MS * sent / link if link else 0.0
        self.hol_us.append(self.rlc.age_us(self.now_us))

    def _pace(self, pipeline: dict[str, Any], link: float) -> None:
        greedy_rate = min(
            (q["shaper"]["rate_kbps"] / 8.0 for q in pipeline["queues"] if q["shaper"]),
            default=float("inf"),
        )
        if any("codel" in q["discipline"] for q in pipeline["queues"]):
            for queue in self.queues.values():
                queue.take(max(0.0, queue.bytes - CODEL_MS * link))
        room = max(0.0, (PACED_MS + 1) * link - self.rlc.bytes)
        room -= self._forward(self.queues[0], room)
        self._forward(self.queues[1], min(room, greedy_rate))

    def _forward(self, queue: Fifo, size: float) -> float:
        moved = queue.take(size)
        self.rlc.put(moved, self.now_us)
        return moved

    def _backlog_of(self, source: Source) -> int:
        return int(self.queues[self._queue_of(source)].bytes) if source.kbps >= 1_000 else 0

    def _queue_of(self, source: Source) -> int:
        pipeline = self.tc.pipeline
        if pipeline is None or pipeline["name"] == "bdp_only":
            return 0
        if "osi" in pipeline["classifier"]:
            ports = [
                (f["match"]["source_port"] or {}).get("low")
                for f in pipeline["classifier"]["osi"]["filters"]
            ]
            return 1 if source.port in ports else 0
        return 1 if source.kbps >= 1_000 else 0

    def rlc_message(self) -> bytes:
        recent = self.hol_us[-100:]
        mean = sum(recent) / len(recent) if recent else 0.0
        age = self.rlc.age_us(self.now_us)
        occupancy = int(self.rlc.bytes)
        return rlc_message((int(self.rlc_bytes) % 2**32, occupancy, mean, age, RNTI, DRB))

    def status(self) -> dict[str, Any]:
        pipeline = self.tc.pipeline
        used = [0] if pipeline is None or pipeline["name"] == "bdp_only" else [0, 1]
        lease = self.tc.lease_until_us
        return {
            "bearer": {"ue": {"rnti": RNTI}, "drb": DRB},
            "revision": self.tc.revision,
            "name": "transparent" if pipeline is None else pipeline["name"],
            "digest": self.tc.digest,
            "safe": self.tc.in_safe,
            "owner": self.tc.owner,
            "lease_left_ms": None if lease is None else max(0, lease - self.now_us) // 1000,
            "head_of_line_age_us": max(q.age_us(self.now_us) for q in self.queues.values()),
            "queues": [self._queue_status(number) for number in used],
            "pacer": {"drain_kbps": self.link_kbps, "rlc_occupancy_bytes": 0, "forwarded_bytes": 0},
            "ingress_packets": 0,
            "ingress_bytes": 0,
            "dropped_packets": 0,
        }

    def _queue_status(self, number: int) -> dict[str, Any]:
        queue = self.queues[number]
        age = queue.age_us(self.now_us)
        return {
            "id": number,
            "backlog_bytes": int(queue.bytes),
            "backlog_packets": int(queue.bytes // 1500),
            "forwarded_packets": 0,
            "forwarded_bytes": number,
            "dropped_packets": 0,
            "marked_packets": 0,
            "policed_packets": 0,
            "mean_sojourn_us": age,
            "last_sojourn_us": age,
            "shaped": False,
        }

    def inventory(self) -> dict[str, Any]:
        flows = [
            source.record(source.kbps, self._backlog_of(source), self._queue_of(source))
            for source in self.sources
            if source.kbps > 0
        ]
        return {
            "bearer": {"ue": {"rnti": RNTI}, "drb": DRB},
            "active_flows": len(flows),
            "window_ms": 1000,
            "flows": flows,
        }

    def mac_message(self) -> bytes:
        return mac_message((RNTI, int(self.prbs) % 2**32))


class World(NodeModel):
    """The model and a controller, driven in steps of 1 ms."""

    def __init__(
        self,
        controller: Controller,
        *sources: Source,
        link_kbps: int = 40_000,
        capabilities: dict[str, Any] | None = None,
        start_us: int = 1_000_000,
    ) -> None:
        super().__init__(*sources, link_kbps=link_kbps, start_us=start_us)
        self.controller = controller
        self.records: list[dict[str, Any]] = []
        self.saved: dict[str, Any] | None = None
        self.sent: list[tuple[int, SendControl]] = []
        self.answering = True
        self.reports_pipelines = True
        self.answer_delay_us = 500
        #: What the node's clock has more than the controller's.
        self.node_clock_us = 0
        self._answers: list[tuple[int, int, Outcome]] = []
        self.capabilities = capabilities or {}
        self.do(controller.on_node_event(self.now_us, NodeUp(NODE, self.capabilities)))

    # ------------------------------------------------------------------- running

    def run(self, ms: int) -> None:
        for _ in range(ms):
            self.step()

    def run_until(self, event: str, limit_ms: int = 20_000) -> dict[str, Any]:
        """Run until a record of this event is written; returns it."""
        for _ in range(limit_ms):
            known = len(self.records)
            self.step()
            for record in self.records[known:]:
                if record["event"] == event:
                    return record
        raise AssertionError(
            f"no {event} within {limit_ms} ms: {[r['event'] for r in self.records]}"
        )

    def step(self) -> None:
        self.advance()
        self._report()
        due = [item for item in self._answers if item[0] <= self.now_us]
        self._answers = [item for item in self._answers if item[0] > self.now_us]
        for at_us, control_id, outcome in due:
            self.do(self.controller.on_control_answer(at_us, control_id, outcome))

    def do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, WriteRecord):
                self.records.append(dict(action.record))
            elif isinstance(action, SaveDesired):
                self.saved = dict(action.document())
            else:
                self.sent.append((self.now_us, action))
                outcome = self.tc.control(dict(action.message), self.now_us)
                if self.answering:
                    at_us = self.now_us + self.answer_delay_us
                    self._answers.append((at_us, action.control_id, parse_outcome(outcome)))

    def restart_node(self) -> None:
        """The gNB restarts: its pipelines and counters are gone."""
        self.do(self.controller.on_node_event(self.now_us, NodeDown(NODE)))
        self.reset()
        self.do(self.controller.on_node_event(self.now_us, NodeUp(NODE, self.capabilities)))

    # ------------------------------------------------------------------- reading

    def events(self, *names: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["event"] in names]

    def event(self, name: str) -> dict[str, Any]:
        (record,) = self.events(name)
        return record

    def _report(self) -> None:
        feed = self.controller.on_indication
        now_us = self.now_us
        at_us = now_us + self.node_clock_us
        self.do(feed(now_us, RlcReport(NODE, at_us, self.rlc_message())))
        if now_us % 10_000 == 0:
            self.do(feed(now_us, MacReport(NODE, at_us, self.mac_message())))
            if self.reports_pipelines:
                self.do(feed(now_us, PipelineReport(NODE, at_us, statuses(self.status()))))
        if now_us % 50_000 == 0 or len(self.hol_us) == 1:
            self.do(feed(now_us, FlowReport(NODE, at_us, inventories(self.inventory()))))
