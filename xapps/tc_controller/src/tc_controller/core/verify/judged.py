"""What one bearer gets, once a second, against what its rule promises it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tc_controller.core.inputs import Pipeline
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.policy.schema import Rule
from tc_controller.core.verify.class_compliance import (
    ClassMeter,
    assess_loss,
    meter_for,
    with_rates,
)
from tc_controller.core.verify.compliance import PERIOD_US, Assessment, Compliance, assess, begun
from tc_controller.core.verify.service import PacketMeter, ServiceTotals


@dataclass(slots=True)
class Judged:
    """The assessments of a bearer, and the meters that they come from."""

    #: Against the objective, for the last second; ``None``: no rule, or not assessed yet.
    assessment: Assessment | None = None
    #: The same of the delay alone, without rates and classes.
    delay: Assessment | None = None
    #: The same of each class of the rule, by name.
    classes: dict[str, Assessment] = field(default_factory=dict)
    packets: PacketMeter = field(default_factory=PacketMeter)
    #: Meter of classes and guaranteed rates; ``None``: the rule has none.
    meter: ClassMeter | None = None

    @property
    def compliance(self) -> Compliance | None:
        """The state of `assessment`."""
        return None if self.assessment is None else self.assessment.state

    def without_rule(self) -> None:
        """No rule promises anything."""
        self.assessment = self.delay = self.meter = None

    def assess(
        self,
        view: BearerView | None,
        rule: Rule,
        totals: ServiceTotals,
        in_force: Pipeline | None,
        now_us: int,
        *,
        silent_for_us: int,
        rated: bool,
    ) -> Mapping[str, Assessment]:
        """Judge the last second and count it; returns the assessments of the classes.

        Args:
            view: ``None`` while no RLC report has the bearer.
            totals: where what it gets is counted.
            in_force: the pipeline that is to be in force.
            silent_for_us: controller time since the node's newest RLC report.
            rated: whether its traffic needs a rate.
        """
        delay_us = None
        if view is not None and view.pipeline is not None:
            pipeline, flows = view.pipeline, view.flows
            delay_us = self.packets.add(pipeline, flows, totals, now_us, view.mean_us)
        delay, measured, classes = self._measured(view, rule, silent_for_us)
        self.delay = begun(delay, self.delay, now_us)
        saturated_kbps = self._saturated_kbps(view) if view is not None and rated else None
        totals.observe(view, measured.state, now_us, delay_us, saturated_kbps)
        self.meter = meter_for(self.meter, in_force, rule, rate=rated)
        self.assessment = begun(measured, self.assessment, now_us)
        return classes

    def _measured(
        self, view: BearerView | None, rule: Rule, silent_for_us: int
    ) -> tuple[Assessment, Assessment, dict[str, Assessment]]:
        """The last second: of the bearer's delay, of the bearer, and of each class by name."""
        assessment = assess(view, rule.objective, silent_for_us)
        meter = self.meter
        found: list[Assessment | None] = []
        #: A packet that is lost has not come in time.
        late: list[Assessment] = []
        classes: dict[str, Assessment] = {}
        since_us = 0 if view is None else view.at_us - PERIOD_US

        def share_of_cell() -> float | None:
            return None if view is None else view.share_of_cell(since_us)

        if meter is not None:
            rate, classes = meter.assess(rule, self.packets, share_of_cell)
            found.append(rate)
        if view is not None and rule.objective.maximum_mbps is None:
            # Of the flows of no class; each class has its own.
            loss = self.packets.unresponsive_loss(
                lambda queue: meter is None or meter.class_of(queue) == 0
            )
            radio_mbps = (view.drain_kbps(since_us) or 0.0) / 1000
            if (lost := assess_loss(loss, rule.objective, radio_mbps)) is not None:
                late.append(lost)
        others = [each for each in (*found, *late) if each is not None]
        delay = with_rates(assessment, late, {})
        return delay, with_rates(assessment, others, classes), classes

    def _saturated_kbps(self, view: BearerView) -> float | None:
        """Drain rate of the last second if packets were queued all the time; ``None`` otherwise."""
        since_us = view.at_us - PERIOD_US
        # In the pipeline, whoever's packets they are, or in the RLC.
        asked = (self.meter is not None and self.meter.asked) or view.always_queued(since_us)
        return view.drain_kbps(since_us) if asked else None
