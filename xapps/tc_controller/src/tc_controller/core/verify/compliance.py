"""Whether a bearer meets its objective, once a second.

*No data*, *idle*, *radio stalled* and *violated* are four states: a bearer without reports is not
good, a bearer without traffic is not bad, and a radio that sends nothing is not the fault of a
queue. A state holds for the last second of node time, or for as much of it as the windows keep.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Final

from tc_controller.core.observe.bearer_view import BearerView, standing_us
from tc_controller.core.policy.schema import Objective

#: Period and span of an assessment.
PERIOD_US: Final = 1_000_000
#: A state that was at risk or violated is met again after this time without either.
_CALM_US: Final = 5_000_000
#: A gap in the reports ends no state: what holds before it and after it held since it began. After
#: a longer one nothing is said of the time before.
_GAP_US: Final = 60_000_000
#: Time without an RLC report after which nothing is known.
_SILENT_US: Final = 500_000


class Compliance(enum.Enum):
    """State of a bearer against its objective."""

    MET = "met"
    #: Within the bound, but not below the share of it at which a violation would end; or it was so,
    #: or violated, within the last 5 s.
    AT_RISK = "at_risk"
    VIOLATED = "violated"
    #: Guaranteed rates together exceed what the radio carries.
    INFEASIBLE = "infeasible"
    #: Above the bound, but no pipeline shortens it: the radio sent little or nothing.
    RADIO_STALLED = "radio_stalled"
    #: Nothing was queued and nothing was sent.
    IDLE = "idle"
    NO_DATA = "no_data"


@dataclass(frozen=True, slots=True)
class Assessment:
    """A state and the sentence that explains it."""

    state: Compliance
    reason: str
    #: Sojourn at the objective's percentile; ``None``: not known, or of a class.
    sojourn_us: float | None = None
    #: Controller time at which the state began.
    since_us: int = 0
    #: Controller time since which each measurement was met; ``None``: the last one was not.
    met_since_us: int | None = None
    #: Controller times of the first and of the newest measurement that missed the objective, with
    #: less than `_CALM_US` of others between two of them; ``None``: none did. Both are later by the
    #: time in which nothing was measured.
    missed_us: tuple[int, int] | None = None
    #: While there is no data: the last assessment that had some.
    before_gap: Assessment | None = None

    @property
    def missed(self) -> bool:
        """Whether the objective is missed for longer than the hysteresis: the state flaps less."""
        return self.missed_us is not None and self.missed_us[1] - self.missed_us[0] >= _CALM_US


def assess(view: BearerView | None, objective: Objective, silent_for_us: int) -> Assessment:
    """The state of a bearer.

    Args:
        view: ``None`` while no RLC report has the bearer.
        silent_for_us: controller time since the node's newest RLC report.
    """
    if view is None or silent_for_us > _SILENT_US:
        return Assessment(Compliance.NO_DATA, f"no RLC report for {silent_for_us / 1e6:.1f} s")
    since_us = view.at_us - PERIOD_US
    sojourn_us = view.sojourn_percentile(since_us, objective.percentile)
    drain_kbps = view.drain_kbps(since_us)
    if sojourn_us is None or drain_kbps is None:
        return Assessment(Compliance.NO_DATA, "fewer than two RLC reports")
    backlog_bytes = 0 if view.pipeline is None else view.pipeline.backlog_bytes
    if drain_kbps == 0.0:
        queued_bytes = view.occupancy_bytes + backlog_bytes
        if queued_bytes == 0:
            return Assessment(Compliance.IDLE, "nothing sent and nothing queued", sojourn_us)
        reason = f"nothing sent of {queued_bytes} queued bytes"
        return Assessment(Compliance.RADIO_STALLED, reason, sojourn_us)
    return _against_bound(view, objective, sojourn_us)


def begun(now: Assessment, former: Assessment | None, now_us: int) -> Assessment:
    """The assessment with the time at which its state began.

    What hovers at a threshold crosses it each second: it is at risk until it was met for a while.
    """
    known, ended_us = former, now_us
    if former is not None and former.state is Compliance.NO_DATA:
        known, ended_us = former.before_gap, former.since_us
    if known is None or now_us - ended_us > _GAP_US:
        known = None
    if now.state is Compliance.NO_DATA:
        began = former is None or former.state is not now.state
        return replace(
            now,
            since_us=now_us if began or former is None else former.since_us,
            missed_us=None if known is None else known.missed_us,
            before_gap=known,
        )
    gap_us = now_us - ended_us
    met_us = None if known is None else known.met_since_us
    met_since_us = _met_since_us(now, None if met_us is None else met_us + gap_us, now_us)
    missed_us = _missed_us(now, known, now_us, gap_us)
    if known is None:
        return replace(now, since_us=now_us, met_since_us=met_since_us, missed_us=missed_us)
    state, reason = now.state, now.reason
    troubled = known.state in (Compliance.AT_RISK, Compliance.VIOLATED)
    if troubled and met_since_us is not None and now_us - met_since_us < _CALM_US:
        state, reason = Compliance.AT_RISK, f"{reason}; not met within the last 5 s"
    return replace(
        now,
        state=state,
        reason=reason,
        since_us=known.since_us if known.state is state else now_us,
        met_since_us=met_since_us,
        missed_us=missed_us,
    )


def _missed_us(
    now: Assessment, known: Assessment | None, now_us: int, gap_us: int
) -> tuple[int, int] | None:
    """What `Assessment.missed_us` is now. Gaps, and a radio that sends nothing, do not count."""
    before = None if known is None else known.missed_us
    if before is not None:
        unknown_us = gap_us
        if now.state is Compliance.RADIO_STALLED:
            unknown_us = now_us - before[1]
        before = before[0] + unknown_us, before[1] + unknown_us
    if now.state in (Compliance.VIOLATED, Compliance.INFEASIBLE):
        return (now_us if before is None else before[0]), now_us
    return None if before is None or now_us - before[1] >= _CALM_US else before


def _met_since_us(now: Assessment, before_us: int | None, now_us: int) -> int | None:
    if now.state is not Compliance.MET:
        return None
    return now_us if before_us is None else before_us


def _against_bound(view: BearerView, objective: Objective, sojourn_us: float) -> Assessment:
    bound_us = objective.bound_ms * 1000.0
    figure = f"p{objective.percentile:g} sojourn {sojourn_us / 1000:.1f} ms"
    if sojourn_us <= bound_us * objective.clear_ratio:
        reason = f"{figure}, within {objective.bound_ms:g} ms"
        return Assessment(Compliance.MET, reason, sojourn_us)
    if sojourn_us <= bound_us:
        share = f"{objective.clear_ratio:.0%} of {objective.bound_ms:g} ms"
        return Assessment(Compliance.AT_RISK, f"{figure}, above {share}", sojourn_us)
    if standing_us(view.standing_bytes, view.serving_kbps) <= bound_us:
        waiting = f"with {view.standing_bytes} bytes in front of a sparse packet"
        reason = f"{figure}, {waiting}: the radio pauses"
        return Assessment(Compliance.RADIO_STALLED, reason, sojourn_us)
    reason = f"{figure}, above {objective.bound_ms:g} ms"
    return Assessment(Compliance.VIOLATED, reason, sojourn_us)
