"""The policy: which bearers are watched, their objectives, and the templates to try, in order.

The models here are the one definition of the policy file; ``tc-controller schema`` prints their
JSON schema and ``tc_controller.policy_file`` reads a file into them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from ric.explain import PlacedError

from tc_controller.core.inputs import BearerKey
from tc_controller.core.policy.classes import RateMbps, Share, TrafficClass, check_rates
from tc_controller.core.policy.compile import with_classes
from tc_controller.core.policy.quality import DEFAULT, SHIPPED, Requirement
from tc_controller.core.policy.rung import CHOSEN, Condition, Rung, Strict
from tc_controller.core.policy.second_drb import SecondDrb
from tc_controller.core.policy.selectors import UNKNOWN, Carried, Match, Selector, Slice, SliceId
from tc_controller.core.policy.slot import OfBase, OfLadder, Slot
from tc_controller.core.policy.trial import Trial

Ms = Annotated[int, Field(ge=1, le=600_000)]
#: Spans whose reports are all kept in memory.
WindowMs = Annotated[int, Field(ge=10, le=10_000)]


class Prediction(Strict):
    """Acting on forecasts before the violation."""

    enabled: bool = Field(default=False, description="Whether forecasts may trigger a decision.")
    quantile: float = Field(
        default=0.5,
        gt=0.0,
        lt=1.0,
        description="Quantile of the forecast that must cross the bound. It lies within those of "
        "the forecasts: beyond them nothing is predicted, and `prediction_unknown` is logged.",
    )
    confirm_forecasts: int = Field(
        default=3, ge=1, le=1000, description="Consecutive forecasts that must cross the bound."
    )
    accept_persistence: bool = Field(
        default=False,
        description="Also act on the persistence fallback, which repeats the present value.",
    )


class Objective(Strict):
    """What the packets of a bearer are promised. The sojourn is the age of the RLC head of line
    plus the sojourn in the pipeline queues that ungreedy flows use."""

    bound_ms: float = Field(
        default=10.0,
        gt=0.0,
        le=60_000.0,
        description="Bound on the sojourn, ms. 10 ms is the trigger of irazabal2024 §V-C.",
    )
    percentile: float = Field(
        default=95.0,
        gt=0.0,
        lt=100.0,
        description="Share of the samples of a window that must be within the bound, percent. "
        "The rest is the tolerated burst.",
    )
    window_ms: WindowMs = Field(default=100, description="Window of the percentile, ms.")
    confirm_ms: int = Field(
        default=3,
        ge=0,
        le=10_000,
        description="A head of line above the bound for this long without a break is a violation, "
        "whatever the percentile, ms. 0: the first sample.",
    )
    clear_ratio: Share = Field(
        default=0.7,
        description="Hysteresis: a violation ends when the sojourn stays below this share of the "
        "bound for `clear_ms`.",
    )
    clear_ms: Ms = Field(default=50, description="See `clear_ratio`, ms.")
    predict: Prediction = Field(default_factory=Prediction)
    guaranteed_mbps: RateMbps | None = Field(
        default=None,
        description="Rate that a backlogged bearer is to get, Mbit/s. Measured, not enforced: the "
        "MAC divides the radio among bearers.",
    )
    maximum_mbps: RateMbps | None = Field(
        default=None,
        description="Rate that the bearer does not exceed, Mbit/s: a shaper of all its queues.",
    )

    @model_validator(mode="after")
    def _rates_ordered(self) -> Objective:
        check_rates(self.guaranteed_mbps, self.maximum_mbps)
        return self


class Guard(Strict):
    """When a change counts as harm and is rolled back."""

    min_utilisation_ratio: Share = Field(
        default=0.75,
        description="Least ratio of radio utilisation after the change to before, in PRBs and in "
        "drained bytes. The change is rolled back if all reported measures are below it.",
    )
    max_sojourn_ratio: float = Field(
        default=1.5,
        ge=1.0,
        le=1000.0,
        description="Largest ratio of the sojourn after the change to before.",
    )
    sojourn_floor_ms: float = Field(
        default=50.0,
        ge=0.0,
        le=60_000.0,
        description="Sojourns below this are never harm, ms: a violation detected early has a "
        "small sojourn before the change, to which a ratio means little.",
    )
    rollback_to: Literal["previous", "safe"] = Field(
        default="previous",
        description="What a rollback returns to; the first rung's previous is safe.",
    )


class Verification(Strict):
    """When and for how long the effect of a change is measured."""

    margin_ms: Ms = Field(
        default=150,
        description="Wait after the old RLC backlog has drained, ms: for data on F1, and for the "
        "100 ms over which the pipeline's mean sojourn is taken.",
    )
    max_settle_ms: Ms = Field(
        default=5_000,
        description="Verification starts after this even if the old backlog has not drained, ms.",
    )
    window_ms: WindowMs = Field(default=500, description="Observation after settling, ms.")
    max_window_ms: Ms = Field(
        default=3_000, description="Longest observation when reports are missing, ms."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Verification:
        if self.max_window_ms < self.window_ms:
            raise ValueError(
                f"max_window_ms is {self.max_window_ms}; expected at least window_ms, "
                f"{self.window_ms}"
            )
        return self


class Enforcement(Strict):
    """How changes reach the RAN function."""

    lease_ms: int = Field(
        default=6_000,
        ge=30,
        le=600_000,
        description="Lease of a pipeline, ms; renewed each third of it. Without renewal the RAN "
        "function returns to its safe pipeline: the base, or with `keep_base_without_controller` "
        "false the one of before any control.",
    )
    keep_base_without_controller: bool = Field(
        default=True,
        description="Make the base the safe pipeline of the RAN function: it has no lease, stays "
        "when the controller is gone, and is what the lease of a rung falls back to. Without "
        "effect on a node that does not announce `as_safe`.",
    )
    dry_run: bool = Field(default=False, description="Decide and log, send nothing.")
    cool_down_ms: Ms = Field(
        default=5_000, description="No decision for the bearer for this long after a rollback, ms."
    )
    retry_failed_rung_ms: Ms = Field(
        default=60_000,
        description="A rung that was rolled back or refused is skipped for this long, ms; each "
        "further failure doubles it, up to 64 times.",
    )
    stale_retries: int = Field(
        default=3,
        ge=0,
        le=100,
        description="Retries of a transaction that was stale or not answered.",
    )
    release_idle_after_ms: Ms | None = Field(
        default=None,
        description="Return a bearer to its safe pipeline when nothing was drained for this long, "
        "ms. Disabled if unset.",
    )


class Rule(Strict):
    """Objective and templates for the bearers it matches."""

    name: str = Field(min_length=1, max_length=64, description="For logs and metrics.")
    match: Match = Field(default_factory=Match)
    objective: Objective = Field(default_factory=Objective)
    guard: Guard = Field(default_factory=Guard)
    verify: Verification = Field(default_factory=Verification)
    enforce: Enforcement = Field(default_factory=Enforcement)
    base: Annotated[tuple[Rung, ...], Field(max_length=8)] = Field(
        default=(),
        description="The pipeline of every matched bearer, installed before anything is wrong and "
        "kept there: the first of these that the node supports. Empty: the node's own.",
    )
    ladder: Annotated[tuple[Rung, ...], Field(max_length=16)] = Field(
        default=(),
        description="Templates that are tried in this order when the objective is violated under "
        "the base. Base and ladder empty: watch only.",
    )
    classes: Annotated[tuple[TrafficClass, ...], Field(max_length=127)] = Field(
        default=(),
        description="Classes of flows within a bearer, with objectives of their own; a packet "
        "belongs to the first that matches. They are compiled to a pipeline out of `base`.",
    )
    requirement: str | None = Field(
        default=None,
        description="Name under `requirements`: what the Quality of Outcome is measured against. "
        f"That of the slice, else `{DEFAULT}`, if unset.",
    )
    trial: Trial | None = Field(
        default=None,
        description="Measures what the base is worth against another pipeline. Disabled if unset.",
    )

    @model_validator(mode="after")
    def _trial_has_a_base(self) -> Rule:
        if self.trial is not None and not self.base:
            raise PlacedError(("base",), "an empty list; expected a base, which the trial compares")
        return self

    @model_validator(mode="after")
    def _base_is_unconditional(self) -> Rule:
        for position, rung in enumerate(self.base):
            if rung.template in CHOSEN:
                raise PlacedError(
                    ("base", position, "template"),
                    f"{rung.template} is for flows selected at a violation; expected a template "
                    "for any traffic",
                )
            if rung.when != Condition():
                raise PlacedError(
                    ("base", position, "when"),
                    "unknown key; what depends on the traffic belongs to the ladder",
                )
        return self

    @model_validator(mode="after")
    def _classes_fit_together(self) -> Rule:
        seen: set[str] = set()
        for position, each in enumerate(self.classes):
            if each.name in seen:
                problem = f"{each.name!r}; names of classes must differ"
                raise PlacedError(("classes", position, "name"), problem)
            seen.add(each.name)
        self._check_rates()
        shares = sum(each.share or 0.0 for each in self.classes)
        # Shares such as 0.1 add up to 1 but for the last bits.
        if shares > 1.0 + 1e-9:
            raise PlacedError(("classes",), f"shares add up to {shares:g}; expected at most 1")
        self.compiled_base()
        return self

    def _check_rates(self) -> None:
        maximum_mbps = self.objective.maximum_mbps
        if maximum_mbps is None:
            return
        for position, each in enumerate(self.classes):
            if each.objective.maximum_mbps is not None:
                place = ("classes", position, "objective", "maximum_mbps")
                problem = "a queue has one shaper; expected none beside objective.maximum_mbps"
                raise PlacedError(place, problem)
        guaranteed_mbps = sum(each.objective.guaranteed_mbps or 0.0 for each in self.classes)
        if guaranteed_mbps > maximum_mbps:
            problem = (
                f"guaranteed rates add up to {guaranteed_mbps:g}; expected at most "
                f"objective.maximum_mbps, {maximum_mbps:g}"
            )
            raise PlacedError(("classes",), problem)

    @property
    def watch_only(self) -> bool:
        """Whether it has no pipeline to install."""
        return not self.base and not self.ladder

    def compiled_base(self) -> tuple[Rung, ...]:
        """The pipelines to install, in order of preference: `base` with the objectives that a
        pipeline can keep."""
        rungs = with_classes(self.base, self.classes, self.objective.maximum_mbps)
        if rungs != self.base and self.ladder:
            problem = "its rungs would replace the pipeline of the objectives; expected no ladder"
            raise PlacedError(("ladder",), problem)
        return rungs

    def slot_of(self, template: str) -> Slot:
        """The rung of the ladder with this template; one that the ladder lacks counts as below
        it."""
        templates = [rung.template for rung in self.ladder]
        return OfLadder(templates.index(template)) if template in templates else OfBase()


class Reports(Strict):
    """Report subscriptions and their periods."""

    rlc_period_ms: int = Field(default=1, ge=1, le=1000, description="RLC reports, ms.")
    mac_period_ms: int | None = Field(default=10, ge=1, le=1000, description="MAC reports, ms.")
    pipeline_period_ms: int = Field(default=10, ge=1, le=10_000, description="Pipeline status, ms.")
    flow_period_ms: int = Field(default=50, ge=1, le=10_000, description="Flow inventory, ms.")
    top_flows: int = Field(
        default=32, ge=1, le=256, description="Flows per bearer in the inventory."
    )
    kpm_period_ms: int | None = Field(
        default=None,
        ge=10,
        le=60_000,
        description="KPM reports, ms; for nodes without MAC reports.",
    )
    kpm_slice: SliceId | None = Field(
        default=None,
        description="Slice whose UEs KPM reports, for gNBs with several. SST 1 if unset.",
    )


class GreedyFlows(Strict):
    """Which flows of an inventory are greedy. The others are sparse; their delay is what counts."""

    fair_share_ratio: Share = Field(
        default=0.5,
        description="A flow that arrives at less than this ratio of its max-min fair share of the "
        "bearer is sparse.",
    )
    min_rate_kbps: int = Field(
        default=1_000,
        ge=0,
        le=100_000_000,
        description="A slower flow is greedy by its backlog only, kbit/s.",
    )
    min_backlog_bytes: int = Field(
        default=30_000,
        ge=1,
        description="A flow with this much queued is greedy whatever its rate, bytes.",
    )
    dwell_ms: Ms = Field(
        default=2_000, description="A greedy flow stays so for this long after it last was, ms."
    )
    max_flows: int = Field(
        default=16, ge=1, le=255, description="Most greedy flows that a pipeline sets apart."
    )


class Policy(Strict):
    """A whole policy file."""

    version: Literal[1] = Field(description="Version of this file format.")
    reports: Reports = Field(default_factory=Reports)
    greedy: GreedyFlows = Field(default_factory=GreedyFlows)
    max_controls_per_s: int = Field(
        default=500,
        ge=1,
        le=100_000,
        description="Transactions to one node per second; further ones wait. Lease renewals are "
        "not limited.",
    )
    slices: dict[str, Slice] = Field(
        default_factory=dict,
        description="Named sets of bearers. Where nodes report no S-NSSAI, the policy lists the "
        "bearers of a slice.",
    )
    requirements: Annotated[dict[str, Requirement], Field(max_length=64)] = Field(
        default_factory=dict,
        description="What applications need of the segment in front of the radio, by name; beside "
        f"the built-in {', '.join(f'`{name}`' for name in SHIPPED)}, which may be replaced.",
    )
    second_drb: SecondDrb | None = Field(
        default=None,
        description="Moves sparse and inelastic QoS flows to a DRB of higher priority. Off if "
        "unset.",
    )
    rules: Annotated[tuple[Rule, ...], Field(max_length=256)] = Field(
        description="The first rule that matches a bearer applies; without one it is not watched.",
        # Checked below: pydantic would count the valid rules only, and call a list of one bad rule
        # empty as well.
        json_schema_extra={"minItems": 1},
    )

    def rule_for(
        self, bearer: BearerKey, qfis: frozenset[int], carried: Carried = UNKNOWN
    ) -> Rule | None:
        """The first rule that matches a bearer with these QoS flows seen and reported."""
        for rule in self.rules:
            slices = rule.match.slices
            if rule.match.selects(bearer, qfis, carried) and (
                not slices
                or any(self.slices[name].selects(bearer, qfis, carried) for name in slices)
            ):
                return rule
        return None

    def with_rules(self, rules: tuple[Rule, ...]) -> Self:
        """The same policy with other rules."""
        return self.model_copy(update={"rules": rules})

    @property
    def acts(self) -> bool:
        """Whether a rule installs pipelines."""
        return any(not (rule.enforce.dry_run or rule.watch_only) for rule in self.rules)

    def slice_of(
        self, bearer: BearerKey, qfis: frozenset[int], rule: Rule, carried: Carried = UNKNOWN
    ) -> str:
        """Name of the slice by which a bearer is counted: the first that selects it, of those that
        its rule names or of all; "" for none."""
        names = rule.match.slices or tuple(self.slices)
        selecting = (name for name in names if self.slices[name].selects(bearer, qfis, carried))
        return next(selecting, "")

    def requirement_of(self, rule: Rule, slice_name: str) -> tuple[str, Requirement]:
        """Name and values of what a rule's bearers of a slice need."""
        of_slice = self.slices[slice_name].requirement if slice_name in self.slices else None
        name = rule.requirement or of_slice or DEFAULT
        return name, self.requirements.get(name) or SHIPPED[name]

    @property
    def depends_on_flows(self) -> bool:
        """Whether a selector names QFIs, which only the flow inventory contains."""
        return any(selector.qfis for selector in self._selectors())

    @property
    def depends_on_carried(self) -> bool:
        """Whether a selector names 5QIs or slices, which nodes report of bearers."""
        slices = (each.s_nssai for each in self.slices.values())
        return any(selector.five_qis for selector in self._selectors()) or any(slices)

    def _selectors(self) -> list[Selector]:
        return [*(rule.match for rule in self.rules), *self.slices.values()]

    @model_validator(mode="after")
    def _references(self) -> Policy:
        if not self.rules:
            raise ValueError("rules: an empty list; expected at least one rule")
        seen: set[str] = set()
        for position, rule in enumerate(self.rules):
            if rule.name in seen:
                raise ValueError(f"rules[{position}].name is {rule.name!r}; names must differ")
            seen.add(rule.name)
            for slice_name in rule.match.slices:
                if slice_name not in self.slices:
                    known = ", ".join(sorted(self.slices)) or "none is defined"
                    raise ValueError(
                        f"rules[{position}].match.slices names {slice_name!r}; "
                        f"expected one of slices ({known})"
                    )
        self._check_requirements()
        return self

    def _check_requirements(self) -> None:
        known = sorted({*SHIPPED, *self.requirements})
        named = {f"rules[{at}]": rule.requirement for at, rule in enumerate(self.rules)}
        named |= {f"slices.{name}": each.requirement for name, each in self.slices.items()}
        for place, name in named.items():
            if name is not None and name not in known:
                raise ValueError(
                    f"{place}.requirement is {name!r}; expected one of {', '.join(known)}"
                )


def json_schema() -> dict[str, Any]:
    """JSON schema (2020-12) of the policy file."""
    schema = Policy.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
