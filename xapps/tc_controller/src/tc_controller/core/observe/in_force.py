"""Which pipeline is in force on a bearer, as far as is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tc_controller.core.observe.pipeline_view import PipelineView


@dataclass(frozen=True, slots=True)
class InForce:
    """The pipeline in force by the newest status report, event or answer."""

    #: ``None``: not known.
    revision: int | None = None
    #: It is the node's safe pipeline.
    safe: bool = False
    name: str = ""
    digest: int | None = None
    #: Controller that installed it.
    owner: str | None = None
    #: It is of the node default: revision, rule, age in ms.
    by_default: tuple[int, int, int] | None = None


NOTHING_KNOWN: Final = InForce()


def shown_by(status: PipelineView) -> InForce:
    """What a status report shows."""
    return InForce(
        status.revision, status.safe, status.name, status.digest, status.owner, status.by_default
    )
