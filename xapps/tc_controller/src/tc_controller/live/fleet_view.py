"""What controllers tell each other for the live page: the worst nodes and bearers, who answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError
from ric.explain import explain_validation_error
from typing_extensions import TypedDict

from tc_controller.core.verify.compliance import Compliance
from tc_controller.live.feed import Feed
from tc_controller.live.rows import Row

#: Bearers and nodes of one answer; a controller sends its worst.
MOST_BEARERS: Final = 200
MOST_NODES: Final = 300
_MOST_REPLICAS: Final = 500
#: Length of an answer; one of as many rows has a quarter of it.
MAX_BYTES: Final = 1 << 20

_Text = Annotated[str, Field(max_length=1000)]
_Name = Annotated[str, Field(max_length=200)]
_Count = Annotated[int, Field(ge=0, le=1 << 53)]
_Number = Annotated[float, Field(allow_inf_nan=False)]


class ReplicaRow(TypedDict):
    """A controller, or a site that does not answer."""

    site: _Name
    name: _Name
    #: ``None``: it answers.
    problem: _Text | None
    #: Since when it does not.
    since_us: _Count | None


class _Fault(TypedDict):
    sentence: _Text
    reason: _Text
    bearers: _Count
    since_us: _Count
    advice: _Text


class NodeRow(TypedDict):
    """A node as `rows.node_row` has it, of a controller."""

    id: _Name
    site: _Name
    replica: _Name
    owned: bool
    role: _Name
    meaning: _Text
    bearers: _Count
    states: Annotated[dict[_Name, _Count], Field(max_length=20)]
    reported_at_us: _Count | None
    pipelines: _Text | None
    gone_since_us: _Count | None
    faults: Annotated[list[_Fault], Field(max_length=20)]
    trials: Annotated[list[_Text], Field(max_length=20)]


class BearerRow(TypedDict):
    """A bearer as `rows.bearer_row` has it, of a controller, with its newest values."""

    id: _Name
    site: _Name
    replica: _Name
    node: _Name
    rnti: _Name
    drb: _Count
    rank: _Count
    state: _Name
    since_us: _Count | None
    reason: _Text | None
    slice: _Name
    rule: _Name | None
    bound_ms: _Number | None
    pipeline: _Name | None
    revision: _Count | None
    stale: _Text | None
    values: Annotated[list[_Number | None], Field(min_length=5, max_length=5)]


class View(TypedDict):
    """An answer: what one controller sees, one site or all of them."""

    now_us: _Count
    replicas: Annotated[list[ReplicaRow], Field(max_length=_MOST_REPLICAS)]
    nodes: Annotated[list[NodeRow], Field(max_length=MOST_NODES)]
    bearers: Annotated[list[BearerRow], Field(max_length=MOST_BEARERS)]


_VIEW: Final = TypeAdapter(View)


@dataclass(frozen=True, slots=True)
class Search:
    """Which bearers are asked for."""

    text: str = ""
    #: Any of them if empty.
    states: frozenset[str] = frozenset()

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Whether a bearer is one of them."""
        if self.states and row["state"] not in self.states:
            return False
        words = [row[name] for name in ("id", "slice", "rule", "pipeline", "site", "replica")]
        words += [f"UE {row['rnti']}", f"DRB {row['drb']}"]
        return not self.text or self.text in " ".join(map(str, words)).lower()


def view_of(body: bytes, site: str) -> View:
    """What a controller answered, of a site as it is called here; raises `ValueError`."""
    try:
        view = _VIEW.validate_json(body)
    except ValidationError as error:
        raise ValueError(explain_validation_error(error, "no view of a controller")[0]) from None
    for rows in (view["replicas"], view["nodes"], view["bearers"]):
        for row in rows:
            row["site"] = site
    return view


def own_view(feed: Feed, now_us: int, site: str, search: Search) -> View:
    """What this controller sees; first what it owns, as others know the rest better."""
    replica = feed.controller.owner
    place = {"site": site, "replica": replica}
    nodes: list[Any] = [{**row, **place} for row in feed.nodes()]
    owned = {row["id"] for row in nodes if row["owned"]}
    rows = ({**row, **place} for row in feed.bearers())
    found: list[Any] = nlargest(
        MOST_BEARERS,
        (row for row in rows if search.fits(row)),
        key=lambda row: (row["node"] in owned, row["rank"]),
    )
    me: ReplicaRow = {"site": site, "name": replica, "problem": None, "since_us": None}
    return {"now_us": now_us, "replicas": [me], "nodes": _worst(nodes), "bearers": found}


def merged(now_us: int, views: Iterable[View]) -> View:
    """One view: each node, with its bearers, of the controller that owns it or knows it best."""
    views = list(views)
    nodes: dict[tuple[str, str], Any] = {}
    for view in views:
        for node in view["nodes"]:
            key = node["site"], node["id"]
            if key not in nodes or _knowledge(node) > _knowledge(nodes[key]):
                nodes[key] = node
    bearers = (
        row
        for view in views
        for row in view["bearers"]
        if (row["site"], row["node"]) not in nodes
        or nodes[row["site"], row["node"]]["replica"] == row["replica"]
    )
    return {
        "now_us": now_us,
        "replicas": [row for view in views for row in view["replicas"]][:_MOST_REPLICAS],
        "nodes": _worst(nodes.values()),
        "bearers": nlargest(MOST_BEARERS, bearers, key=lambda row: row["rank"]),
    }


def _knowledge(node: NodeRow) -> tuple[bool, bool, int]:
    return node["owned"], node["gone_since_us"] is None, node["bearers"]


def _worst(nodes: Iterable[Row]) -> list[Any]:
    def badness(node: Row) -> tuple[int, int]:
        faults = len(node["faults"]) + (node["gone_since_us"] is not None)
        return faults, node["states"].get(Compliance.VIOLATED.value, 0)

    return nlargest(MOST_NODES, nodes, key=badness)
