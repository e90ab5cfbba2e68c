"""Quality of Outcome (draft-ietf-ippm-qoo-11): how close a path segment is to what is needed.

A requirement has two points: Requirements for Optimal Performance (ROP), at or below which the
outcome is as good as it gets, and Conditions at the Point of Unacceptable Performance (CPUP), at or
above which it is unusable. The score is 100 at the first, 0 at the second, linear between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import Field, model_validator
from ric.explain import PlacedError

from tc_controller.core.policy.rung import Strict

LatencyMs = Annotated[float, Field(gt=0.0, le=10_000.0)]
Ratio = Annotated[float, Field(ge=0.0, le=1.0)]

_SAMPLES_ABOVE: Final = 10
"""Samples that must lie above the highest percentile: "about 10 samples is insufficient" for the
whole sample (draft §6), so at least as many decide the percentile."""


class LatencyRequirement(Strict):
    """One percentile of the one-way downlink delay of the segment."""

    percentile: float = Field(gt=0.0, lt=100.0, description="Percentile of the delay.")
    rop_ms: LatencyMs = Field(description="Delay for optimal performance, ms.")
    cpup_ms: LatencyMs = Field(description="Delay at which performance is unacceptable, ms.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_order("rop_ms", self.rop_ms, "cpup_ms", self.cpup_ms)
        return self


class LossRequirement(Strict):
    """Share of the packets that the segment loses."""

    rop_ratio: Ratio = Field(description="Loss for optimal performance.")
    cpup_ratio: Ratio = Field(description="Loss at which performance is unacceptable.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_order("rop_ratio", self.rop_ratio, "cpup_ratio", self.cpup_ratio)
        return self


def _check_order(rop_name: str, rop: float, cpup_name: str, cpup: float) -> None:
    if rop >= cpup:
        raise PlacedError((rop_name,), f"{rop:g}; expected less than {cpup_name}, {cpup:g}")


class Requirement(Strict):
    """What an application needs of the segment in front of the radio (CU queue and RLC), one-way
    downlink. It is part of a path: leave the rest of the path its share of the end-to-end need."""

    latency: Annotated[tuple[LatencyRequirement, ...], Field(max_length=8)] = Field(
        description="Percentiles of the delay; the worst of them counts.",
        # Checked below: pydantic would count the valid ones only.
        json_schema_extra={"minItems": 1},
    )
    loss: LossRequirement | None = Field(
        default=None, description="Lost share of the packets of sparse flows. Not judged if unset."
    )
    min_mbps: float | None = Field(
        default=None,
        gt=0.0,
        le=100_000.0,
        description="Least rate of a bearer while it has packets queued, Mbit/s. Not judged if "
        "unset.",
    )

    @model_validator(mode="after")
    def _has_latency(self) -> Self:
        if not self.latency:
            raise PlacedError(("latency",), "an empty list; expected at least one percentile")
        return self

    @property
    def least_samples(self) -> int:
        """Fewer give no score."""
        highest = max(each.percentile for each in self.latency)
        return round(_SAMPLES_ABOVE / (1.0 - highest / 100.0))


@dataclass(frozen=True, slots=True)
class Score:
    """A score, 0 to 100, and what it comes from."""

    value: float
    limit: str
    """What sets it: ``p95`` for that percentile of the delay, ``loss`` or ``throughput``."""


def score(
    requirement: Requirement,
    latency_us: Mapping[float, float],
    loss_ratio: float | None,
    throughput_mbps: float | None,
) -> Score:
    """The least of the scores of delay, loss and throughput (draft §5).

    Args:
        requirement: what is needed.
        latency_us: delay at each of its percentiles, µs.
        loss_ratio: of all packets; ``None`` if unknown, which is not judged.
        throughput_mbps: of a bearer that has packets to send; ``None`` if there was none.
    """
    found = [
        Score(
            _between(latency_us[each.percentile] / 1000.0, each.rop_ms, each.cpup_ms),
            f"p{each.percentile:g}",
        )
        for each in requirement.latency
    ]
    loss = requirement.loss
    if loss is not None and loss_ratio is not None:
        found.append(Score(_between(loss_ratio, loss.rop_ratio, loss.cpup_ratio), "loss"))
    if requirement.min_mbps is not None and throughput_mbps is not None:
        enough = throughput_mbps >= requirement.min_mbps
        found.append(Score(100.0 if enough else 0.0, "throughput"))
    return min(found, key=lambda each: each.value)


def _between(measured: float, rop: float, cpup: float) -> float:
    return 100.0 * min(1.0, max(0.0, 1.0 - (measured - rop) / (cpup - rop)))


def _shipped(*latency: tuple[float, float, float], loss: tuple[float, float]) -> Requirement:
    return Requirement(
        latency=tuple(
            LatencyRequirement(percentile=p, rop_ms=rop, cpup_ms=cpup) for p, rop, cpup in latency
        ),
        loss=LossRequirement(rop_ratio=loss[0], cpup_ratio=loss[1]),
    )


DEFAULT: Final = "interactive"

SHIPPED: Final[Mapping[str, Requirement]] = {
    # Anything a person waits for, beside other traffic.
    DEFAULT: _shipped((95, 25, 80), (99, 50, 150), loss=(0.01, 0.05)),
    # 5QI 3, 50 ms (TS 23.501 table 5.7.4-1), less 20 ms for the core network (§5.7.3.4).
    "gaming": _shipped((95, 10, 30), (99, 20, 50), loss=(0.005, 0.01)),
    # 5QI 1 and 7, 100 ms, less 20 ms; loss as LibreQoS's profile for calls.
    "conference": _shipped((95, 25, 80), (99, 50, 120), loss=(0.001, 0.01)),
    "web": _shipped((95, 50, 150), loss=(0.01, 0.05)),
    # 5QI 4, 6, 8 and 9, 300 ms, less 20 ms: a player has a buffer of seconds.
    "streaming": _shipped((95, 100, 280), loss=(0.01, 0.05)),
}
"""Profiles that every policy has; one of the same name in the policy replaces it."""
