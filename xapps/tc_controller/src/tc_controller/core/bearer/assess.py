"""The assessment of a bearer, once a second: what changed of it is logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tc_controller.core.actions import Action
from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.bearer.blocked import blocked
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.report import records
from tc_controller.core.verify.compliance import Assessment, Compliance, begun
from tc_controller.core.verify.distribution import MINUTES, Counts
from tc_controller.core.verify.service import quality_of

#: States that restarts do not end, by the word of each.
_KEPT: Final = {
    state.value: state
    for state in (Compliance.VIOLATED, Compliance.INFEASIBLE, Compliance.RADIO_STALLED)
}


def assess(
    bearer: Bearer,
    view: BearerView | None,
    silent_for_us: int,
    now_us: int,
    recent: Callable[[], Counts],
) -> list[Action]:
    """Set `Bearer.judged`; a change of state is logged with what holds a remedy up and with the
    quality by the bearer's ``recent`` sojourns."""
    judged, rule, service = bearer.judged, bearer.rule, bearer.service
    bearer.change.forget_sent(now_us)
    if rule is None or service is None:
        judged.without_rule()
        return _judge_classes(bearer, {}, now_us)
    if judged.assessment is None:
        judged.assessment = _before_start(bearer, now_us)
    former, desired = judged.assessment, bearer.desired
    classes = judged.assess(
        view,
        rule,
        service,
        None if desired is None else desired.pipeline,
        now_us,
        silent_for_us=silent_for_us,
        rated=bearer.requirement[1].min_mbps is not None,
    )
    if judged.meter is not None:
        # It measures with every status.
        bearer.touch()
    now, actions = judged.assessment, list[Action]()
    _keep(bearer, now, now_us)
    if now is not None and (former is None or former.state is not now.state):
        held = blocked(bearer, now_us) if now.state is Compliance.VIOLATED else None
        quality = _quality(bearer, recent())
        actions.append(
            _changed(
                bearer, former, now, now_us, blocker=None if held is None else str(held), **quality
            )
        )
    for name, each in classes.items():
        bearer.shared.counters.class_compliance[(rule.name, name, each.state.value)] += 1
    return actions + _judge_classes(bearer, classes, now_us)


def _before_start(bearer: Bearer, now_us: int) -> Assessment | None:
    """What was kept of the last run: a gap in the reports, and the state before it."""
    kept = bearer.shared.desired.states.before(bearer.key, now_us)
    if kept is None or kept[0] not in _KEPT:
        return None
    state = Assessment(_KEPT[kept[0]], "before the controller's start", since_us=kept[1])
    return Assessment(Compliance.NO_DATA, "not assessed yet", since_us=now_us, before_gap=state)


def _keep(bearer: Bearer, now: Assessment | None, now_us: int) -> None:
    """Keep the state for the next start. One without data says nothing."""
    states = bearer.shared.desired.states
    if now is None or (now.state is not Compliance.NO_DATA and now.state.value not in _KEPT):
        states.forget(bearer.key)
    elif now.state.value in _KEPT:
        states.note(bearer.key, now.state.value, now.since_us, now_us)


def _judge_classes(bearer: Bearer, classes: Mapping[str, Assessment], now_us: int) -> list[Action]:
    """Set the assessments of classes; a change of state and a class that ended are logged."""
    formers = bearer.judged.classes
    current: dict[str, Assessment] = {}
    actions: list[Action] = []
    for name, each in classes.items():
        before = formers.get(name)
        now = current[name] = begun(each, before, now_us)
        if before is None or before.state is not now.state:
            actions.append(_changed(bearer, before, now, now_us, class_name=name))
    bearer.judged.classes = current
    gone = [name for name in formers if name not in classes]
    noted = (records.noted("class_gone", now_us, bearer.key, class_name=name) for name in gone)
    return [*actions, *noted]


def _changed(
    bearer: Bearer,
    former: Assessment | None,
    now: Assessment,
    now_us: int,
    **details: object,
) -> Action:
    return records.noted(
        "compliance",
        now_us,
        bearer.key,
        rule=None if bearer.rule is None else bearer.rule.name,
        state=now.state.value,
        since_us=now.since_us,
        former=None if former is None else former.state.value,
        reason=now.reason,
        **details,
    )


def _quality(bearer: Bearer, recent: Counts) -> dict[str, object]:
    name, requirement = bearer.requirement
    quality = quality_of(requirement, recent)
    score = quality.score
    return {
        "segment_quality": {
            "requirement": name,
            "score": None if score is None else round(score.value, 1),
            "limit": None if score is None else score.limit,
            "samples": quality.samples,
            "window_s": MINUTES * 60,
        }
    }
