"""Desired pipelines, and their comparison with the pipelines in force.

Desired pipelines survive restarts of the controller (through a state document), of the RIC and
of the gNB (in memory).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tc_controller.core.inputs import BearerKey, Pipeline
from tc_controller.core.pipeline_view import PipelineView

VERSION = 1


class StateError(ValueError):
    """A state document that cannot be used; the message names the place."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The pipeline a bearer should have."""

    bearer: BearerKey
    rule: str
    #: Index and template of its rung; the index of a base is negative.
    rung: int
    template: str
    pipeline: Pipeline
    #: Revision at which the RAN function accepted it.
    revision: int


class Divergence(enum.Enum):
    """How the pipeline in force relates to the desired one."""

    NONE = "none"
    #: The safe pipeline is in force: the lease ended, or the node restarted.
    SAFE = "safe"
    #: Another controller installed its own pipeline.
    FOREIGN = "foreign"


def compare(desired: Desired, view: PipelineView) -> Divergence:
    """Whether the desired pipeline is in force."""
    if view.safe:
        return Divergence.SAFE
    if view.revision == desired.revision and view.name == desired.pipeline["name"]:
        return Divergence.NONE
    return Divergence.FOREIGN


class DesiredStore:
    """The desired pipelines of all nodes."""

    def __init__(self) -> None:
        self._desired: dict[BearerKey, Desired] = {}

    def __len__(self) -> int:
        return len(self._desired)

    def get(self, bearer: BearerKey) -> Desired | None:
        """The desired pipeline of a bearer; ``None``: its safe pipeline."""
        return self._desired.get(bearer)

    def put(self, desired: Desired) -> None:
        """Store a desired pipeline."""
        self._desired[desired.bearer] = desired

    def drop(self, bearer: BearerKey) -> bool:
        """Want the safe pipeline; returns whether another one was desired."""
        return self._desired.pop(bearer, None) is not None

    def of_node(self, node_id: str) -> list[Desired]:
        """Desired pipelines on one node."""
        return [item for item in self._desired.values() if item.bearer.node_id == node_id]

    def document(self) -> dict[str, Any]:
        """For the state file."""
        return {
            "version": VERSION,
            "desired": [
                {
                    **item.bearer.as_dict(),
                    "rule": item.rule,
                    "rung": item.rung,
                    "template": item.template,
                    "pipeline": item.pipeline,
                    "revision": item.revision,
                }
                for item in sorted(self._desired.values(), key=lambda item: item.bearer)
            ],
        }

    def load(self, document: object) -> None:
        """Load a state document.

        Raises:
            StateError: it has another shape or version; nothing is loaded.
        """
        if not isinstance(document, Mapping) or document.get("version") != VERSION:
            raise StateError(f"expected an object with version {VERSION}")
        entries = document.get("desired")
        if not isinstance(entries, list):
            raise StateError("desired: expected a list")
        loaded = {}
        for index, entry in enumerate(entries):
            item = _entry(index, entry)
            loaded[item.bearer] = item
        self._desired = loaded


def _entry(index: int, entry: object) -> Desired:
    place = f"desired[{index}]"
    if not isinstance(entry, Mapping):
        raise StateError(f"{place}: expected an object")
    kinds: dict[str, type] = {
        "node": str,
        "rnti": int,
        "drb": int,
        "rule": str,
        "rung": int,
        "template": str,
        "pipeline": dict,
        "revision": int,
    }
    for name, kind in kinds.items():
        if not isinstance(entry.get(name), kind):
            raise StateError(f"{place}.{name}: {entry.get(name)!r}; expected {_ARTICLES[kind]}")
    pipeline = entry["pipeline"]
    if not isinstance(pipeline.get("name"), str):
        raise StateError(f"{place}.pipeline.name: expected a string")
    return Desired(
        bearer=BearerKey(entry["node"], entry["rnti"], entry["drb"]),
        rule=entry["rule"],
        rung=entry["rung"],
        template=entry["template"],
        pipeline=pipeline,
        revision=entry["revision"],
    )


_ARTICLES = {str: "a string", int: "an integer", dict: "an object"}
