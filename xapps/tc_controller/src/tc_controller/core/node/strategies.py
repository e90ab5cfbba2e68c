"""What may stand beside the base of a rule: a remedy where it does not suffice, and trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tc_controller.core.actions import Action
from tc_controller.core.bearer.bearer import Bearer
from tc_controller.core.inputs import BearerKey, ForecastReport
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.policy.rung import Rung
from tc_controller.core.policy.schema import Policy


class Remedy(Protocol):
    """What is tried on the bearers of a node whose base does not meet the objective."""

    def restart(self) -> None:
        """The windows of the node begin anew."""

    def reported(self, now_us: int) -> list[Action]:
        """An RLC report was taken in."""

    def forecast(self, report: ForecastReport, now_us: int) -> list[Action]:
        """Forecasts of bearers."""

    def tick(self, bearer: Bearer, view: BearerView | None, now_us: int) -> list[Action]:
        """Time passed for a bearer."""

    def sync(self, bearer: Bearer, slot: int, now_us: int) -> None:
        """Anything happened to the bearer of a slot."""

    def forget(self, key: BearerKey, slot: int | None) -> None:
        """A bearer is gone."""


class Trials(Protocol):
    """What compares the bases of rules with other pipelines on the bearers of a node."""

    @property
    def runs(self) -> Mapping[str, Any]:
        """Trials by the name of their rule."""

    @property
    def active(self) -> bool:
        """Whether one has not ended: it measures at each tick."""

    def set_policy(self, policy: Policy) -> None:
        """Another policy is in force."""

    def kept_instead(self) -> Mapping[str, Rung]:
        """The pipelines that stay instead of the base, by rule."""

    def joined(self, bearer: Bearer, now_us: int) -> None:
        """The bearer is new, or another rule or policy holds."""

    def tick(self, now_us: int) -> list[Action]:
        """Time passed while the controller acts on the node."""
