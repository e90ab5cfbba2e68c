"""Desired pipelines, trials under way, and the comparison with the pipelines in force.

Both desired pipelines and bases made safe survive restarts of the controller (through a state
document), of the RIC and of the gNB (in memory).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ric.errors import ServiceModelError
from ric.sm import tc

from tc_controller.core.act.kept_states import KeptStates, StateError
from tc_controller.core.inputs import BearerKey, Pipeline
from tc_controller.core.observe.pipeline_view import PipelineView
from tc_controller.core.policy.slot import OfBase, OfLadder, OfTrial, Slot

VERSION = 1
#: Status reports in a row that must show another pipeline before it counts as lost: one may have
#: been on its way when ours took effect.
DIVERGED_REPORTS = 3
#: Times that a pipeline is sent again although each was accepted; after that one waits.
REAPPLIED_IN_VAIN = 3
#: What a trial compares the base with, in a state document: a rule has at most eight bases.
_OF_TRIAL = -9


@dataclass(frozen=True, slots=True)
class Desired:
    """The pipeline a bearer should have: the base of its rule or a rung of its ladder."""

    bearer: BearerKey
    rule: str
    slot: Slot
    template: str
    pipeline: Pipeline
    #: Revision at which the RAN function accepted it.
    revision: int
    #: It is the node's safe pipeline: without lease, and where a lease falls back to.
    as_safe: bool = False


@dataclass(slots=True)
class Drift:
    """How far the reports of a bearer show another pipeline than the desired one."""

    #: Status reports in a row that did.
    diverged: int = 0
    #: Times that the desired pipeline was sent again since a status report last showed it, and
    #: when it may be sent once more after `REAPPLIED_IN_VAIN`.
    reapplied: int = 0
    reapply_at_us: int = 0
    #: Node time of the first of the status reports in a row with an older revision.
    older_since_us: int | None = None


class Divergence(enum.Enum):
    """How the pipeline in force relates to the desired one."""

    NONE = "none"
    #: Another safe pipeline is in force: the lease ended, or the node restarted.
    SAFE = "safe"
    #: The lease of a rung ended; the base that this controller made safe is in force.
    BASE = "base"
    #: Another controller installed its own pipeline.
    FOREIGN = "foreign"


def compare(desired: Desired, view: PipelineView) -> Divergence:
    """Whether the desired pipeline is in force."""
    same = view.revision == desired.revision and view.name == desired.pipeline["name"]
    if same and view.safe == desired.as_safe:
        return Divergence.NONE
    return Divergence.SAFE if view.safe else Divergence.FOREIGN


def digest_of(pipeline: Pipeline | None) -> int:
    """Digest of a pipeline as a status report has it; -1, which no report has, for none."""
    try:
        return -1 if pipeline is None else tc.digest(pipeline)
    except ServiceModelError:
        return -1


def falls_back(desired: Desired, kept: Desired, revision: int, name: str) -> bool:
    """Whether a safe pipeline is the base ``kept``: the lease of ``desired`` ended, and nothing
    else has happened since."""
    ended = not desired.as_safe and revision == (desired.revision + 1) % 2**32
    return ended and name == kept.pipeline["name"]


class DesiredStore:
    """What the state document keeps: desired pipelines and trials of all nodes, bases that were
    made safe, and since when bearers miss their objective."""

    def __init__(self) -> None:
        self._desired: dict[BearerKey, Desired] = {}
        self._kept: dict[BearerKey, Desired] = {}
        #: Documents of trials, by node and rule.
        self.trials: dict[tuple[str, str], Mapping[str, Any]] = {}
        #: Id of the move and DRB that the flow came from, by node, C-RNTI and QFI.
        self.flow_moves: dict[tuple[str, int, int], tuple[str, int]] = {}
        self.states = KeptStates()

    def __len__(self) -> int:
        return len(self._desired)

    def get(self, bearer: BearerKey) -> Desired | None:
        """The desired pipeline of a bearer; ``None``: its safe pipeline."""
        return self._desired.get(bearer)

    def put(self, desired: Desired) -> None:
        """Store a desired pipeline."""
        self._desired[desired.bearer] = desired
        if desired.as_safe:
            self._kept[desired.bearer] = desired

    def kept(self, bearer: BearerKey) -> Desired | None:
        """The base that this controller made the safe pipeline of a bearer. Its revision is that at
        which it was last seen in force."""
        return self._kept.get(bearer)

    def drop(self, bearer: BearerKey) -> None:
        """Want the safe pipeline, whichever that is."""
        self._desired.pop(bearer, None)

    def forget(self, bearer: BearerKey) -> bool:
        """The bearer is gone, or has its initial pipeline again; returns whether it was known."""
        self.states.forget(bearer)
        desired, kept = self._desired.pop(bearer, None), self._kept.pop(bearer, None)
        return desired is not None or kept is not None

    def of_node(self, node_id: str) -> list[BearerKey]:
        """Bearers of one node with a desired or kept pipeline."""
        known = self._desired.keys() | self._kept.keys()
        return sorted(bearer for bearer in known if bearer.node_id == node_id)

    def set_flow_moves(
        self, node_id: str, moves: Mapping[tuple[int, int], tuple[str, int]]
    ) -> None:
        """Replace the moves of QoS flows at a node, by C-RNTI and QFI."""
        others = {key: move for key, move in self.flow_moves.items() if key[0] != node_id}
        own = {(node_id, rnti, qfi): move for (rnti, qfi), move in moves.items()}
        self.flow_moves = others | own

    def document(self) -> dict[str, Any]:
        """The state document."""
        kept = (item for item in self._kept.values() if item != self._desired.get(item.bearer))
        trials = {"trials": list(self.trials.values())} if self.trials else {}
        states = {"states": entries} if (entries := self.states.entries()) else {}
        moves = {"flow_moves": _move_entries(self.flow_moves)} if self.flow_moves else {}
        return {
            **trials,
            **states,
            **moves,
            "version": VERSION,
            "desired": _entries(self._desired.values()),
            "kept": _entries(kept),
        }

    def load(self, document: object) -> None:
        """Load a state document.

        Raises:
            StateError: it has another shape or version; nothing is loaded.
        """
        if not isinstance(document, Mapping) or document.get("version") != VERSION:
            raise StateError(f"expected an object with version {VERSION}")
        desired, kept = _loaded(document, "desired"), _loaded(document, "kept")
        for index, item in enumerate(kept.values()):
            if not item.as_safe:
                raise StateError(f"kept[{index}].as_safe: False; expected true")
        trials = document.get("trials", [])
        if not isinstance(trials, list):
            raise StateError("trials: expected a list")
        states = document.get("states", [])
        if not isinstance(states, list):
            raise StateError("states: expected a list")
        moves = document.get("flow_moves", [])
        if not isinstance(moves, list):
            raise StateError("flow_moves: expected a list")
        flow_moves = dict(_flow_move(index, entry) for index, entry in enumerate(moves))
        self.states.load(states)
        self.flow_moves = flow_moves
        self.trials = dict(_trial(index, entry) for index, entry in enumerate(trials))
        self._desired = desired
        self._kept = {**kept, **{key: item for key, item in desired.items() if item.as_safe}}


def _entries(items: Iterable[Desired]) -> list[dict[str, Any]]:
    return [
        {
            **item.bearer.as_dict(),
            "rule": item.rule,
            "rung": _number(item.slot),
            "template": item.template,
            "pipeline": item.pipeline,
            "revision": item.revision,
            "as_safe": item.as_safe,
        }
        for item in sorted(items, key=lambda item: item.bearer)
    ]


def _move_entries(
    moves: Mapping[tuple[str, int, int], tuple[str, int]],
) -> list[dict[str, Any]]:
    return [
        {"node": node, "rnti": rnti, "qfi": qfi, "id": move_id, "from_drb": home}
        for (node, rnti, qfi), (move_id, home) in sorted(moves.items())
    ]


def _flow_move(index: int, entry: object) -> tuple[tuple[str, int, int], tuple[str, int]]:
    place = f"flow_moves[{index}]"
    if not isinstance(entry, Mapping):
        raise StateError(f"{place}: expected an object")
    kinds: dict[str, type] = {"node": str, "rnti": int, "qfi": int, "id": str, "from_drb": int}
    for name, kind in kinds.items():
        if not isinstance(entry.get(name), kind):
            raise StateError(f"{place}.{name}: {entry.get(name)!r}; expected {_ARTICLES[kind]}")
    return (entry["node"], entry["rnti"], entry["qfi"]), (entry["id"], entry["from_drb"])


def _loaded(document: Mapping[str, Any], name: str) -> dict[BearerKey, Desired]:
    entries = document.get(name)
    if not isinstance(entries, list):
        raise StateError(f"{name}: expected a list")
    items = (_entry(f"{name}[{index}]", entry) for index, entry in enumerate(entries))
    return {item.bearer: item for item in items}


def _trial(index: int, entry: object) -> tuple[tuple[str, str], Mapping[str, Any]]:
    if not isinstance(entry, Mapping):
        raise StateError(f"trials[{index}]: expected an object")
    for name in ("node", "rule"):
        if not isinstance(entry.get(name), str):
            raise StateError(f"trials[{index}].{name}: {entry.get(name)!r}; expected a string")
    return (entry["node"], entry["rule"]), entry


def _entry(place: str, entry: object) -> Desired:
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
        "as_safe": bool,
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
        slot=_slot(entry["rung"]),
        template=entry["template"],
        pipeline=pipeline,
        revision=entry["revision"],
        as_safe=entry["as_safe"],
    )


def _number(slot: Slot) -> int:
    """A slot in a state document: rungs of the ladder from 0 up, bases from -1 down."""
    if isinstance(slot, OfTrial):
        return _OF_TRIAL
    return slot.index if isinstance(slot, OfLadder) else -1 - slot.index


def _slot(number: int) -> Slot:
    if number == _OF_TRIAL:
        return OfTrial()
    return OfLadder(number) if number >= 0 else OfBase(-1 - number)


_ARTICLES = {str: "a string", int: "an integer", bool: "a boolean", dict: "an object"}
