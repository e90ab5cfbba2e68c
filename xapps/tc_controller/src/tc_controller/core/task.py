"""A transaction being carried out, and what its bearer waits for."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from tc_controller.core.act import Purpose
from tc_controller.core.pipeline_view import PipelineView
from tc_controller.core.reconcile import Desired
from tc_controller.core.templates import Pipeline


class Phase(enum.Enum):
    """What the bearer waits for."""

    #: A violation.
    WATCHING = "watching"
    #: The answer to a transaction.
    WAITING = "waiting"
    #: A status report, to send the transaction again with the right revision.
    REREADING = "rereading"
    #: The effect of an accepted change.
    VERIFYING = "verifying"


@dataclass(slots=True)
class Task:
    """A transaction, over all its attempts."""

    purpose: Purpose
    #: ``None``: the safe pipeline.
    target: Desired | None
    attempt: int = 1
    #: A status older than this revision is not worth reading.
    min_revision: int = 0
    give_up_waiting_at_us: int = 0

    @property
    def pipeline(self) -> Pipeline | None:
        """What is to be installed; ``None``: the safe pipeline."""
        return None if self.target is None else self.target.pipeline

    def took_effect(self, view: PipelineView, revision_before: int | None) -> bool:
        """Whether the status shows what was asked for: the answer was lost, not the control."""
        pipeline = self.pipeline
        if pipeline is None:
            return view.safe
        return (
            not view.safe
            and view.name == pipeline["name"]
            and view.revision != revision_before
            and self.min_revision == 0
        )
