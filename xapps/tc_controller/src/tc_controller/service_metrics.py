"""Metrics of what bearers get, by node, slice and rule.

| metric | type | labels |
|---|---|---|
| `sojourn_controller_sojourn_seconds` | histogram | `node`, `slice`, `rule` |
| `sojourn_controller_pdcp_sdu_delay_dl_seconds` | summary (sum, count) | the same |
| `sojourn_controller_rlc_sdu_delay_dl_seconds` | summary | the same |
| `sojourn_controller_sdu_delay_dl_5m_seconds` | gauge: mean of 5 minutes | and `kind` |
| `sojourn_controller_compliance_seconds_total` | counter (bearer seconds) | and `state` |
| `sojourn_controller_bearers_watched`, `…_violating`, `…_base_kept` | gauge | the same |
| `sojourn_controller_pipeline_bearers` | gauge: controlled bearers | and `template` |
| `sojourn_controller_dropped_packets_total` | counter: by the pipelines | and `cause` |
| `sojourn_controller_marked_packets_total` | counter: ECN CE marks | the same |
| `sojourn_qoo_segment_score` | gauge, 0 to 100 | and `profile`, `window` |
| `sojourn_qoo_segment_samples` | gauge | and `profile`, `window` |
| `sojourn_qoo_segment_limit_info` | gauge, always 1 | and `profile`, `limit` |

`slice` is a name of the policy, empty for none. The sojourn is what a sparse packet waits in front
of the radio: age of the RLC's head of line plus sojourn in the pipeline's queues that sparse flows
use. It is sampled every 10 ms (or each RLC report) while the bearer sends or queues.

Of the downlink delays of TS 28.552, E2 reports show two, as means over 100 ms, observed once a
second for each bearer that is served: the CU-UP's (DRB.PdcpSduDelayDl, 5.1.3.3.1) in the pipeline
and the gNB-DU's (DRB.RlcSduDelayDl, 5.1.3.3.3) in the RLC. A pipeline moves delay from the second
to the first: judge by the sum. The F1 delay (DRB.GtpF1DelayDl) and distributions per packet are
measured by the gNB alone.

These two are means over all packets, and bulk has most of them. `sdu_delay_dl_5m` is their sum,
of the packets of each `kind` that the pipelines forwarded in the last 5 minutes: `sparse`, of flows
below their fair share, which is what users feel; `bulk`, of others; `inherited`, of any flow, that
waited when the pipeline in force took effect. A kind without packets has no series. It is sampled
once a second and needs the flow inventory of E2SM-TC.

`cause` is `queue` (AQM, limits and overflow, which E2SM-TC does not separate) or `policer`.

The Quality of Outcome (draft-ietf-ippm-qoo) is that of this *segment*, pipeline and RLC, one-way
downlink, of all samples of the bearers of a rule. `profile` is a requirement of the policy; `limit`
names what sets the score of 15 minutes: a percentile as `p95`, `loss` (of sparse flows) or
`throughput`. Without enough samples there is no score, only their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from prometheus_client.core import HistogramMetricFamily, Metric
from ric.metrics import counter, gauge, summary

from tc_controller.core.controller import Controller
from tc_controller.core.policy.schema import Rule
from tc_controller.core.verify.compliance import Compliance
from tc_controller.core.verify.distribution import EDGES_US
from tc_controller.core.verify.service import ServiceKey, ServiceTotals

_P: Final = "sojourn_controller_"
_LABELS: Final = ("node", "slice", "rule")
_BOUNDS_US: Final = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_WINDOWS: Final = {"5m": 5, "15m": 15}
_RANKED: Final = "15m"
_EXPORTED: Final = (
    Compliance.MET,
    Compliance.VIOLATED,
    Compliance.RADIO_STALLED,
    Compliance.IDLE,
    Compliance.NO_DATA,
)

Key = tuple[str, ...]


@dataclass(slots=True)
class _Present:
    """Bearers of a `ServiceKey` now."""

    rule: Rule
    watched: int = 0
    violating: int = 0
    base_kept: int = 0
    templates: Counter[str] = field(default_factory=Counter)
    #: Name of the requirement.
    profile: str = ""


def service_metrics(controller: Controller, now_us: int) -> Iterator[Metric]:
    """All families; a series begins with the first bearer of its node, slice and rule."""
    present = _present(controller)
    totals = {
        key: each
        for key, each in controller.counters.service.items()
        if key.node_id in controller.nodes
    }
    yield from _sojourns(totals, now_us)
    yield from _packets(totals)
    yield from _bearers(totals, present)
    yield from _quality(controller, totals, present, now_us)


def _present(controller: Controller) -> dict[ServiceKey, _Present]:
    found: dict[ServiceKey, _Present] = {}
    for node_id, node in controller.nodes.items():
        for key, bearer in node.bearers.items():
            if bearer.rule is None:
                continue
            service = ServiceKey(node_id, bearer.slice_name, bearer.rule.name)
            each = found.setdefault(service, _Present(bearer.rule))
            each.watched += 1
            each.profile = bearer.requirement[0]
            slot = node.slot_of(key)
            each.violating += slot is not None and node.windows.violates(slot)
            if bearer.desired is not None:
                each.templates[bearer.desired.template] += 1
                each.base_kept += bearer.kept is not None
    return found


def _sojourns(totals: dict[ServiceKey, ServiceTotals], now_us: int) -> Iterator[Metric]:
    family = HistogramMetricFamily(
        f"{_P}sojourn_seconds",
        "Sojourn of sparse traffic in front of the radio, in pipeline and RLC, sampled every 10 ms "
        "of each bearer that sends or queues.",
        labels=_LABELS,
    )
    last = np.searchsorted(EDGES_US, _BOUNDS_US)
    for key, each in totals.items():
        cumulative = np.cumsum(each.sojourns)
        counts = [*cumulative[last].tolist(), int(cumulative[-1])]
        bounds = [*(repr(bound / 1e6) for bound in _BOUNDS_US), "+Inf"]
        buckets = [(bound, float(count)) for bound, count in zip(bounds, counts, strict=True)]
        family.add_metric(key, buckets, each.sojourn_sum_us / 1e6)
    yield family
    for name, text, means in (
        (
            "pdcp_sdu_delay_dl",
            "DRB.PdcpSduDelayDl (TS 28.552 5.1.3.3.1), the pipeline's part: mean of a bearer over "
            "100 ms, observed each second.",
            {key: each.pipeline_delay for key, each in totals.items()},
        ),
        (
            "rlc_sdu_delay_dl",
            "DRB.RlcSduDelayDl (TS 28.552 5.1.3.3.3): mean of a bearer over 100 ms, observed each "
            "second.",
            {key: each.rlc_delay for key, each in totals.items()},
        ),
    ):
        values = {key: (mean.count, mean.sum_us / 1e6) for key, mean in means.items()}
        yield summary(f"{_P}{name}_seconds", text, _LABELS, values)
    kinds = {
        (*key, kind.value): mean.mean_us / 1e6
        for key, each in totals.items()
        for kind, mean in each.delays_by_kind(_WINDOWS["5m"], now_us).items()
    }
    text = (
        "Mean delay of 5 minutes in pipeline and RLC (DRB.PdcpSduDelayDl and DRB.RlcSduDelayDl, TS "
        "28.552 5.1.3.3, together) of sparse, bulk and inherited packets."
    )
    yield gauge(f"{_P}sdu_delay_dl_5m_seconds", text, (*_LABELS, "kind"), kinds)


def _packets(totals: dict[ServiceKey, ServiceTotals]) -> Iterator[Metric]:
    drops = {(*key, "queue"): each.queue_drops for key, each in totals.items()}
    drops |= {(*key, "policer"): each.policer_drops for key, each in totals.items()}
    text = (
        "Packets dropped by the pipelines: queue (AQM, limits, overflow: E2SM-TC does not separate "
        "them) or policer."
    )
    yield counter(f"{_P}dropped_packets", text, (*_LABELS, "cause"), drops)
    marks = {key: each.marks for key, each in totals.items()}
    yield counter(f"{_P}marked_packets", "Packets marked CE by the pipelines.", _LABELS, marks)


def _bearers(
    totals: dict[ServiceKey, ServiceTotals], present: dict[ServiceKey, _Present]
) -> Iterator[Metric]:
    seconds = {
        (*key, state.value): count for key, each in totals.items() for state, count in _states(each)
    }
    text = "Seconds of bearers in a state against their objective; at risk counts as met."
    yield counter(f"{_P}compliance_seconds", text, (*_LABELS, "state"), seconds)
    for name, text, values in (
        ("watched", "Bearers matched by the rule.", {k: e.watched for k, e in present.items()}),
        ("violating", "Bearers above their bound.", {k: e.violating for k, e in present.items()}),
        (
            "base_kept",
            "Bearers whose base is the gNB's safe pipeline: it stays without a controller.",
            {key: each.base_kept for key, each in present.items()},
        ),
    ):
        yield gauge(f"{_P}bearers_{name}", text, _LABELS, values)
    templates = {
        (*key, template): count
        for key, each in present.items()
        for template, count in each.templates.items()
    }
    text = "Bearers with a pipeline of this controller, by its template."
    yield gauge(f"{_P}pipeline_bearers", text, (*_LABELS, "template"), templates)


def _states(each: ServiceTotals) -> Iterator[tuple[Compliance, int]]:
    seconds = each.compliance
    for state in _EXPORTED:
        at_risk = seconds[Compliance.AT_RISK] if state is Compliance.MET else 0
        yield state, seconds[state] + at_risk
    if seconds[Compliance.INFEASIBLE]:
        yield Compliance.INFEASIBLE, seconds[Compliance.INFEASIBLE]


def _quality(
    controller: Controller,
    totals: dict[ServiceKey, ServiceTotals],
    present: dict[ServiceKey, _Present],
    now_us: int,
) -> Iterator[Metric]:
    scores: dict[Key, float] = {}
    samples: dict[Key, int] = {}
    limits: dict[Key, float] = {}
    for key, each in totals.items():
        if key not in present:
            continue
        rule = present[key].rule
        profile, requirement = controller.policy.requirement_of(rule, key.slice_name)
        for window, minutes in _WINDOWS.items():
            quality = each.quality(requirement, minutes, now_us)
            if window == _RANKED:
                samples[*key, profile, window] = quality.samples
            if quality.score is not None:
                scores[*key, profile, window] = quality.score.value
                if window == _RANKED:
                    limits[*key, profile, quality.score.limit] = 1.0
    labels: tuple[Any, ...] = (*_LABELS, "profile")
    text = (
        "Quality of Outcome (draft-ietf-ippm-qoo) of this segment, pipeline and RLC, one-way "
        "downlink: 100 optimal, 0 unacceptable."
    )
    yield gauge("sojourn_qoo_segment_score", text, (*labels, "window"), scores)
    text = "Sampled sojourns behind the score of this segment, also when there are too few for one."
    yield gauge("sojourn_qoo_segment_samples", text, (*labels, "window"), samples)
    text = "1: what sets the score of this segment over 15 minutes."
    yield gauge("sojourn_qoo_segment_limit_info", text, (*labels, "limit"), limits)
