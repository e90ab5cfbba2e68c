"""Records the E2 reports of an OAI gNB and the load's measurements as a recording of the demo.

RLC, MAC and E2SM-TC v1 reports come through the near-RT RIC and the bridge, as those of the xApps.
"""

from __future__ import annotations

import asyncio
import csv
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import e2sm_tc
from ric import E2GatewayClient, Indication, Node
from ric.errors import RicError
from ric.settings import GatewaySettings
from ric.sm import MAC_OID, RLC_OID, TC_V1_OID, mac, rlc, tc

from sojourn_demo import DemoError
from sojourn_demo.live import NODE_TIME
from sojourn_demo.load.rows import Row, write_rows
from sojourn_demo.oai.cell import Cell
from sojourn_demo.oai.radio_clock import StatusClock
from sojourn_demo.oai.traffic import Traffic

PERIOD_MS: Final = 10
FRAME_US: Final = 10_000
DELAYS: Final = ("rtt", "one_way")
NODE_WITHIN_S: Final = 60.0
COUNTER_WRAP: Final = 1 << 32
BEARERS: Final = (
    *("time_us", "rnti", "drb", "rlc_occupancy_bytes", "rlc_hol_us", "drained_bytes"),
    *("tc_backlog_bytes", "tc_revision", "cell_used_prb", "cell_available_prb"),
)
HOL: Final = BEARERS.index("rlc_hol_us") - 1
"""Its place behind the time."""


class Unwrapped:
    """A counter of 32 bits as one that grows."""

    def __init__(self) -> None:
        self.total = 0
        self._last: int | None = None

    def take(self, value: int) -> None:
        """The counter's next value."""
        if self._last is not None:
            self.total += (value - self._last) % COUNTER_WRAP
        self._last = value


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A subscription, and what takes in its reports."""

    oid: str
    trigger: bytes
    take: Callable[[Indication], None]
    actions: tuple[bytes, ...] = ()


class Recorder:
    """One run: rows of the first bearer from `begin` on."""

    def __init__(self, gateway: str, traffic: Traffic, cell: Cell) -> None:
        """`traffic` runs in `cell`, whose E2 reports come from `gateway`."""
        self._settings = GatewaySettings(address=gateway)
        self._traffic = traffic
        self._clock = StatusClock(cell.status)
        self._prb_per_us = cell.oai.downlink_prb_per_frame() / FRAME_US
        self._rows: list[tuple[int, ...]] = []
        self._new_prb, self._retransmitted_prb = Unwrapped(), Unwrapped()
        self._drained_bytes = self._tc_backlog_bytes = self._revision = 0
        self._epoch_us = self._end_us = 0

    def begin(self) -> None:
        """The time of the run begins."""
        self._epoch_us = time.time_ns() // 1000
        self._rows.clear()

    async def run(self) -> None:
        """Takes in reports until it is cancelled.

        Raises:
            DemoError: No node comes, or it refuses a subscription.
        """
        try:
            async with E2GatewayClient(self._settings) as gateway, asyncio.TaskGroup() as tasks:
                tasks.create_task(self._clock.run())
                node = await _node(gateway)
                for wanted in self._wanted():
                    tasks.create_task(_read(gateway, node.id, wanted))
        except* RicError as errors:
            raise DemoError(f"E2 reports of the gNB: {errors.exceptions[0]}") from errors

    def speed(self) -> float:
        """Time of the radio over that of the wall, from `begin` to `end`."""
        return self._duration_us() / (self._end_us - self._epoch_us)

    def end(self) -> None:
        """The time of the run ends."""
        self._end_us = time.time_ns() // 1000

    def values(self) -> dict[str, float]:
        """What the live view shows, by the names of the lab's metrics."""
        now_s = (time.time_ns() // 1000 - self._epoch_us) / 1e6 if self._epoch_us else 0.0
        found = {NODE_TIME: now_s, "sojourn_tc_backlog_bytes": float(self._tc_backlog_bytes)}
        if self._rows:
            row = dict(zip(BEARERS, self._rows[-1], strict=False))
            found["sojourn_rlc_hol_seconds"] = row["rlc_hol_us"] / 1e6
            found["sojourn_rlc_occupancy_bytes"] = float(row["rlc_occupancy_bytes"])
        totals = self._traffic.goodput.total_bytes
        found["sojourn_flow_goodput_bytes_total"] = totals[-1] if totals else 0.0
        if (rtt_s := self._traffic.last_rtt_s()) is not None:
            found["sojourn_flow_rtt_seconds"] = rtt_s
        return found

    def write(self, folder: Path) -> None:
        """Writes the recording to `folder`, in time of the radio.

        Raises:
            DemoError: No report came.
        """
        if not self._rows:
            raise DemoError("the gNB sent no RLC report; expected reports through the near-RT RIC")
        folder.mkdir(parents=True, exist_ok=True)
        radio_us = self._since_epoch([row[0] for row in self._rows])
        with (folder / "bearers.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(BEARERS)
            for at_us, (wall_us, *row) in zip(radio_us, self._rows, strict=True):
                row[HOL] = self._span_us(wall_us - row[HOL], wall_us)
                table.writerow((round(at_us), *row, round(at_us * self._prb_per_us)))
        write_rows(folder / "flows.csv", self._flow_rows())
        summary = {
            "epoch_us": self._epoch_us,
            "duration_s": self._duration_us() / 1e6,
            "radio_speed": self.speed(),
        }
        (folder / "summary.json").write_text(json.dumps(summary) + "\n")

    def _flow_rows(self) -> Iterator[Row]:
        for flow, kind, quantity, at_us, value in self._traffic.rows():
            if not self._epoch_us <= at_us <= self._end_us:
                continue
            delay = quantity in DELAYS
            shown = self._span_us(at_us - value, at_us) if delay else round(value)
            (radio_us,) = self._since_epoch([at_us])
            yield flow, kind, quantity, round(radio_us), shown

    def _span_us(self, from_us: float, to_us: float) -> int:
        began_us, ended_us = self._clock.at([from_us, to_us])
        return round(float(ended_us) - float(began_us))

    def _since_epoch(self, wall_us: Sequence[float]) -> list[float]:
        began_us = self._clock.at(self._epoch_us)
        since: list[float] = (self._clock.at(wall_us) - began_us).tolist()
        return since

    def _duration_us(self) -> float:
        return self._since_epoch([self._end_us])[0]

    def _wanted(self) -> tuple[_Wanted, ...]:
        trigger: dict[str, Any] = {"periodic": {"period_ms": PERIOD_MS}}
        status = {"style": "pipeline_status", "bearers": [], "top_flows": 1}
        return (
            _Wanted(RLC_OID, rlc.event_trigger(PERIOD_MS), self._take_rlc),
            _Wanted(MAC_OID, mac.event_trigger(PERIOD_MS), self._take_mac),
            _Wanted(
                TC_V1_OID,
                tc.encode("event-trigger", trigger),
                self._take_tc,
                (tc.encode("action-definition", status),),
            ),
        )

    def _take_rlc(self, indication: Indication) -> None:
        rows = rlc.decode(indication.message)
        if not len(rows.records):
            return
        row = rows.records[0]
        self._rows.append(
            (
                rows.tstamp_us,
                int(row["rnti"]),
                int(row["rbid"]),
                int(row["txbuf_occ_bytes"]),
                int(row["txsdu_wt_us"]),
                self._drained_bytes,
                self._tc_backlog_bytes,
                self._revision,
                self._new_prb.total + self._retransmitted_prb.total,
            )
        )

    def _take_mac(self, indication: Indication) -> None:
        rows = mac.decode(indication.message).records
        if len(rows):
            # OAI's RLC-UM counts the room in the block as transmitted, and its agent the bytes of
            # SRB 3 as those of the UE's SDUs.
            self._drained_bytes = int(rows[0]["dl_aggr_tbs"])
            self._new_prb.take(int(rows[0]["dl_aggr_prb"]))
            self._retransmitted_prb.take(int(rows[0]["dl_aggr_retx_prb"]))

    def _take_tc(self, indication: Indication) -> None:
        _, statuses = tc.decode_indication(indication.message)
        for status in statuses:
            if not isinstance(status, e2sm_tc.PipelineStatus):
                continue
            self._revision = status.revision
            self._tc_backlog_bytes = sum(queue.backlog_bytes for queue in status.queues)


async def _node(gateway: E2GatewayClient) -> Node:
    try:
        async with asyncio.timeout(NODE_WITHIN_S):
            async for event in gateway.watch_nodes():
                if event.node.ran_function(TC_V1_OID) is not None:
                    return event.node
    except TimeoutError:
        pass
    raise DemoError(
        f"no gNB with E2SM-TC v1 within {NODE_WITHIN_S:g} s; expected the service model that"
        " `make flexric-sm` builds with the FlexRIC of this OAI"
    )


async def _read(gateway: E2GatewayClient, node: str, wanted: _Wanted) -> None:
    reports = gateway.subscribe(node, wanted.oid, wanted.trigger, wanted.actions)
    newest_us = 0
    async with aclosing(reports) as indications:
        async for indication in indications:
            # FlexRIC now and then delivers a report behind a later one.
            if indication.collected_at_us > newest_us:
                newest_us = indication.collected_at_us
                wanted.take(indication)
