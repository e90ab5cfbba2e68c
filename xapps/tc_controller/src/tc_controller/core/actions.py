"""Outputs of the controller: actions for the shell to carry out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class SendControl:
    """Send this RIC control and pass its outcome to ``Controller.on_control_answer``."""

    #: Identifies the control in its answer; also the correlation id on the wire.
    control_id: int
    node_id: str
    #: E2SM-TC ``ControlHeader``.
    header: Mapping[str, Any]
    #: E2SM-TC ``ControlMessage``.
    message: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """Append this record to the decision log."""

    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SaveDesired:
    """What the state document has changed; keep it for the next start."""

    #: Gives the state document as it is when called, so that many changes cost one document.
    document: Callable[[], Mapping[str, Any]]


Action: TypeAlias = SendControl | WriteRecord | SaveDesired
