"""Metrics of the worst bearers, of at most as many as the setting `metrics.top_bearers`.

| metric | type | further labels |
|---|---|---|
| `sojourn_bearer_sojourn_seconds` | gauge: over the last second | |
| `sojourn_bearer_sojourn_15m_seconds` | gauge: over 15 minutes, the rank | |
| `sojourn_bearer_queued_bytes` | gauge | `place` |
| `sojourn_bearer_sent_bytes_total` | counter: taken by the MAC | |
| `sojourn_bearer_pipeline_revision` | gauge | `template` |
| `sojourn_bearer_state_since_timestamp_seconds` | gauge | `state`, `blocker` |

All have the labels `node`, `ue`, `drb`, `slice`, `rule`. Sojourns are at the percentile of the
rule's objective; the rank is the upper edge of a bucket. `ue` is the C-RNTI, decimal; `place` is
`rlc` or `pipeline`; `template` is the name of the pipeline in force. `state` is the compliance,
`blocker` of a violated bearer why no decision is taken now: `no_tc`, `mode_off`, `mode_observe`,
`watch_only`, `dry_run`, `observing`, `standby`, `candidate`, `duplicate`, `in_progress`,
`not_applied`, `refused`, `base_due`, `trial`, `no_ladder`, `cool_down`; empty if nothing holds one
up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.core import Metric
from ric.metrics import counter, gauge

from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.bearer.blocked import blocked
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey
from tc_controller.core.node.node import Node
from tc_controller.core.verify.compliance import Compliance

#: A bearer replaces one in the list only if it is worse by this: rows stay where they are.
_WORSE: Final = 1.2
_LABELS: Final = ("node", "ue", "drb", "slice", "rule")

Key = tuple[str, ...]


class WorstBearers:
    """Chooses the bearers to show.

    Args:
        most: how many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._chosen: set[BearerKey] = set()

    def choose(self, ranks_us: Mapping[BearerKey, float]) -> list[BearerKey]:
        """The worst by rank, worst first. One that was chosen before stays until another is a
        fifth worse."""

        def weight(key: BearerKey) -> tuple[float, BearerKey]:
            return -ranks_us[key] * (_WORSE if key in self._chosen else 1.0), key

        self._chosen = set(sorted(ranks_us, key=weight)[: self._most])
        return sorted(self._chosen, key=lambda key: (-ranks_us[key], key))


def worst_bearers(controller: Controller, chooser: WorstBearers, now_us: int) -> Iterator[Metric]:
    """All families for the bearers that ``chooser`` chooses."""
    ranks_us = _ranks_us(controller, now_us)
    shown: dict[Key, tuple[Node, Bearer]] = {}
    ranks_s: dict[Key, float] = {}
    for key in chooser.choose(ranks_us):
        node = controller.nodes[key.node_id]
        bearer = node.bearers[key]
        rule = "" if bearer.rule is None else bearer.rule.name
        labels: Key = (key.node_id, str(key.rnti), str(key.drb), bearer.slice_name, rule)
        shown[labels] = node, bearer
        ranks_s[labels] = ranks_us[key] / 1e6
    yield from _sojourns(shown, ranks_s)
    yield from _queues(shown)
    revisions: dict[Key, float] = {}
    since: dict[Key, float] = {}
    for labels, (_, bearer) in shown.items():
        if bearer.seen.revision is not None:
            revisions[*labels, bearer.seen.name] = float(bearer.seen.revision)
        if bearer.judged.assessment is not None:
            state = bearer.judged.assessment.state
            held = blocked(bearer, now_us) if state is Compliance.VIOLATED else None
            blocker = "" if held is None else held.by.word
            since[*labels, state.value, blocker] = bearer.judged.assessment.since_us / 1e6
    text = "Revision of the pipeline in force."
    yield gauge("sojourn_bearer_pipeline_revision", text, (*_LABELS, "template"), revisions)
    text = "Unix time since which the bearer is in this state against its objective."
    every = (*_LABELS, "state", "blocker")
    yield gauge("sojourn_bearer_state_since_timestamp_seconds", text, every, since)


def _ranks_us(controller: Controller, now_us: int) -> dict[BearerKey, float]:
    ranks: dict[BearerKey, float] = {}
    for node in controller.nodes.values():
        columns: dict[float, list[float]] = {}
        for key, bearer in node.bearers.items():
            slot = node.slot_of(key)
            if slot is None or bearer.rule is None:
                continue
            at = bearer.rule.objective.percentile
            if at not in columns:
                columns[at] = node.service.recent_percentiles_us(at, now_us).tolist()
            ranks[key] = columns[at][slot]
    return ranks


def _sojourns(
    shown: Mapping[Key, tuple[Node, Bearer]], ranks_s: Mapping[Key, float]
) -> Iterator[Metric]:
    newest = {
        labels: bearer.judged.assessment.sojourn_us / 1e6
        for labels, (_, bearer) in shown.items()
        if bearer.judged.assessment is not None and bearer.judged.assessment.sojourn_us is not None
    }
    text = "Sojourn at the percentile of the objective over the last second."
    yield gauge("sojourn_bearer_sojourn_seconds", text, _LABELS, newest)
    text = "Sojourn at the percentile of the objective over 15 minutes: the rank of the bearer."
    yield gauge("sojourn_bearer_sojourn_15m_seconds", text, _LABELS, ranks_s)


def _queues(shown: Mapping[Key, tuple[Node, Bearer]]) -> Iterator[Metric]:
    queued: dict[Key, int] = {}
    sent: dict[Key, int] = {}
    for labels, (node, bearer) in shown.items():
        view = node.view(bearer.key)
        if view is None:
            continue
        queued[*labels, "rlc"] = view.occupancy_bytes
        if view.pipeline is not None:
            queued[*labels, "pipeline"] = view.pipeline.backlog_bytes
        sent[labels] = view.drained_bytes
    text = "Bytes queued in the RLC and in the pipeline."
    yield gauge("sojourn_bearer_queued_bytes", text, (*_LABELS, "place"), queued)
    yield counter("sojourn_bearer_sent_bytes", "Bytes that the MAC took.", _LABELS, sent)
