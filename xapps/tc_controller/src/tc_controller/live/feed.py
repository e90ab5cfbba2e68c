"""The page's data as one document, and the changes of each second."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from math import nan
from typing import Any, Final

from ric.health import Condition

from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey
from tc_controller.core.node.node import Node
from tc_controller.core.verify.kinds import Kind
from tc_controller.live.decisions import RecentDecisions
from tc_controller.live.history import History, Sample
from tc_controller.live.ranking import Rank
from tc_controller.live.rows import (
    Row,
    bearer_row,
    controller_row,
    gone_row,
    node_row,
    state_of,
)

Document = dict[str, Any]

#: Bearers handled between two chances for reports to be handled.
_CHUNK: Final = 100
#: Decisions of all bearers that the page lists.
DECISIONS: Final = 50
#: A disconnected node is listed for this long; at most so many are.
_GONE_US: Final = 600_000_000
_MOST_GONE: Final = 64


class Feed:
    """Samples a controller once a second, and finds what changed since the last second.

    Args:
        controller: what is shown.
        decisions: its newest decisions.
        conditions: of readiness.
        reloads: of the policy by result.
        seconds: length of the history.
    """

    def __init__(
        self,
        controller: Controller,
        decisions: RecentDecisions,
        conditions: Callable[[], Mapping[str, Condition]],
        reloads: Mapping[str, int],
        seconds: int,
    ) -> None:
        self.controller = controller
        self.decisions = decisions
        self.history = History(seconds)
        #: Site of the controller, and whether the page shows others.
        self.place: Mapping[str, str | bool] = {"site": "", "fleet": False}
        self._conditions = conditions
        self._reloads = reloads
        self._ranks: dict[BearerKey, Rank] = {}
        #: Bytes drained of each bearer and the node time of it.
        self._drained: dict[BearerKey, tuple[int, int]] = {}
        self._gone: dict[str, int] = {}
        self._known: set[str] = set()
        self._now_us = 0
        self._general: Document = {}
        self._nodes: dict[str, Row] = {}
        #: Rows of bearers by column of the history.
        self._bearers: dict[int, Row] = {}
        self._values: dict[int, tuple[float | None, ...]] = {}

    # ------------------------------------------------------------------ sampling

    def sample(self, now_us: int) -> Iterator[None]:
        """Take the sample of this second; yields after each node: reports can be handled then."""
        self._now_us = now_us
        nodes = dict(self.controller.nodes)
        self._note_gone(nodes, now_us)
        keys = {key for node in nodes.values() for key in node.bearers}
        for column in self.history.keep(keys):
            self._values.pop(column, None)
        for old in self._ranks.keys() - keys:
            del self._ranks[old]
            self._drained.pop(old, None)
        columns: list[int] = []
        samples: list[Sample] = []
        for node in nodes.values():
            self._sample(node, now_us, columns, samples)
            yield
        self.history.add(now_us, columns, samples)

    def _sample(self, node: Node, now_us: int, columns: list[int], samples: list[Sample]) -> None:
        windows, at_us = node.windows, node.windows.newest_us()
        for key, bearer in node.bearers.items():
            column = self.history.columns.get(key)
            if column is None:
                # New since the sample began.
                continue
            assessment, rule, slot = bearer.judged.assessment, bearer.rule, windows.slot(key)
            sojourn_ms = rate_kbps = queue_bytes = bulk_ms = inherited_ms = nan
            if assessment is not None and assessment.sojourn_us is not None:
                sojourn_ms = assessment.sojourn_us / 1000.0
            before, before_us = self._drained.get(key, (None, 0))
            if slot is not None and at_us != before_us:
                if rule is None:
                    sojourn_ms = windows.sojourn_us(slot) / 1000.0
                pipeline = node.pipelines.get(key)
                queue_bytes = windows.occupancy_bytes(slot)
                queue_bytes += 0 if pipeline is None else pipeline.backlog_bytes
                bulk_ms, inherited_ms = (
                    _mean_ms(bearer, kind) for kind in (Kind.BULK, Kind.INHERITED)
                )
                drained = windows.drained_bytes(slot)
                if before is not None and at_us > before_us and drained >= before:
                    rate_kbps = (drained - before) * 8000.0 / (at_us - before_us)
                self._drained[key] = drained, at_us
            rank = self._ranks.get(key)
            if rank is None:
                rank = self._ranks[key] = Rank()
            bound_ms = nan if rule is None else rule.objective.bound_ms
            rank.step(now_us, state_of(bearer), sojourn_ms / bound_ms)
            columns.append(column)
            samples.append(Sample(sojourn_ms, rate_kbps, queue_bytes, bulk_ms, inherited_ms))

    def _note_gone(self, nodes: Mapping[str, Node], now_us: int) -> None:
        for node_id in self._known - nodes.keys():
            self._gone[node_id] = now_us
        self._known = set(nodes)
        listed = {
            node_id: since_us
            for node_id, since_us in self._gone.items()
            if node_id not in nodes and now_us - since_us < _GONE_US
        }
        self._gone = dict(islice(listed.items(), max(0, len(listed) - _MOST_GONE), None))

    # -------------------------------------------------------------------- changes

    def changes(self) -> Iterator[Document | None]:
        """What changed since the last call, as one document at the end; yields ``None`` now and
        then before."""
        change: Document = {"now_us": self._now_us}
        general = {
            "controller": controller_row(self.controller, self._reloads),
            "conditions": {name: asdict(each) for name, each in self._conditions().items()},
        }
        change |= {name: each for name, each in general.items() if each != self._general.get(name)}
        self._general = general
        nodes = {name: node_row(node) for name, node in self.controller.nodes.items()}
        nodes |= {name: gone_row(name, since) for name, since in self._gone.items()}
        change["nodes"] = [
            {"id": name, **_difference(self._nodes.get(name, {}), row)}
            for name, row in nodes.items()
            if row != self._nodes.get(name)
        ]
        change["gone_nodes"] = list(self._nodes.keys() - nodes.keys())
        self._nodes = nodes
        yield from self._bearer_changes(change)
        changed = self.decisions.take_changed(DECISIONS)
        change["decisions"] = [story.as_dict() for story in changed]
        yield change

    def _bearer_changes(self, change: Document) -> Iterator[None]:
        former, self._bearers = self._bearers, {}
        rows, values = [], []
        newest = self.history.newest()
        for index, (key, column) in enumerate(list(self.history.columns.items()), 1):
            node = self.controller.nodes.get(key.node_id)
            bearer = None if node is None else node.bearers.get(key)
            rank = self._ranks.get(key)
            if node is not None and bearer is not None and rank is not None:
                row = bearer_row(node, bearer, self.controller.policy, rank.value)
                self._bearers[column] = row
                old = former.get(column)
                if old is None or old["id"] != row["id"]:
                    rows.append({"column": column, **row})
                elif old != row:
                    rows.append({"column": column, **_difference(old, row)})
                value = newest[column]
                if self._values.get(column) != value:
                    self._values[column] = value
                    values.append([column, *value])
            if index % _CHUNK == 0:
                yield
        change["bearers"], change["values"] = rows, values
        change["gone"] = list(former.keys() - self._bearers.keys())

    def nodes(self) -> list[Row]:
        """Rows of the nodes as of the last call of `changes`."""
        return list(self._nodes.values())

    def bearers(self) -> Iterator[Row]:
        """Rows of the bearers as of the last call of `changes`, with their newest values."""
        for column, row in self._bearers.items():
            yield {**row, "values": self._values[column]}

    def whole(self) -> Iterator[str]:
        """The document as of the last call of `changes`, as parts of a JSON text."""
        document = {
            "now_us": self._now_us,
            "seconds": self.history.seconds,
            **self.place,
            **self._general,
            "nodes": list(self._nodes.values()),
            "decisions": [story.as_dict() for story in self.decisions.newest(DECISIONS)][::-1],
        }
        rows = [
            {"column": column, **row, "values": self._values[column]}
            for column, row in self._bearers.items()
        ]
        yield encode(document)[:-1] + ',"bearers":['
        for begin in range(0, len(rows), _CHUNK):
            yield ("," if begin else "") + encode(rows[begin : begin + _CHUNK])[1:-1]
        yield "]}"


def _mean_ms(bearer: Bearer, kind: Kind) -> float:
    """Mean delay of a kind in the last second; NaN without packets of it."""
    mean = bearer.judged.packets.by_kind.get(kind)
    return nan if mean is None else mean.mean_us / 1000.0


def encode(document: Any) -> str:
    """The document as compact JSON."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _difference(old: Row, new: Row) -> Row:
    return {name: value for name, value in new.items() if name not in old or old[name] != value}
