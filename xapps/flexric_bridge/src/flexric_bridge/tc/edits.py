"""A v1 delta applied to a v1 pipeline: §7.2 of the service model's document."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from flexric_bridge.tc.say import Unsayable

Pipeline = dict[str, Any]


def edited(pipeline: Mapping[str, Any], delta: Iterable[Any]) -> Pipeline:
    """The pipeline after all edits in order.

    Raises `Unsayable` with cause and element of the first edit that does not apply; whether the
    result makes sense is not judged here.
    """
    result: Pipeline = copy.deepcopy(dict(pipeline))
    for position, edit in enumerate(delta):
        ((kind, content),) = edit.items()
        try:
            _EDITS[kind](result, content)
        except _Refused as refused:
            cause, part, detail = refused.args
            where = f"delta[{position}].{kind}{part}"
            raise Unsayable(cause, where, detail) from None
    return result


class _Refused(Exception):  # noqa: N818 - says what happened
    """Cause, part of the edit, detail."""


def _set(name: str) -> Any:
    def put(pipeline: Pipeline, content: Any) -> None:
        pipeline[name] = content

    return put


def _filters(pipeline: Pipeline) -> list[Any]:
    classifier = pipeline["classifier"]
    if not isinstance(classifier, dict) or "osi" not in classifier:
        raise _Refused("inconsistent", "", "the classifier in force has no filters; expected osi")
    filters: list[Any] = classifier["osi"]["filters"]
    return filters


def _add_filter(pipeline: Pipeline, content: Any) -> None:
    filters = _filters(pipeline)
    number, position = content["filter"]["id"], content["position"]
    if any(item["id"] == number for item in filters):
        raise _Refused("duplicate_id", ".filter.id", f"filter {number} is there already")
    if position > len(filters):
        raise _Refused("out_of_range", ".position", f"{position}; at most {len(filters)}")
    filters.insert(position, content["filter"])


def _remove_filter(pipeline: Pipeline, number: Any) -> None:
    filters = _filters(pipeline)
    position = next((i for i, item in enumerate(filters) if item["id"] == number), None)
    if position is None:
        raise _Refused("unknown_filter", "", f"no filter {number}")
    del filters[position]


def _ids(run: Mapping[str, int]) -> range:
    return range(run["first"], run["first"] + run["count"])


def _taken(pipeline: Pipeline) -> set[int]:
    return {number for entry in pipeline["queues"] for number in _ids(entry)}


def _add_queues(pipeline: Pipeline, content: Any) -> None:
    if again := _taken(pipeline).intersection(_ids(content)):
        raise _Refused("duplicate_id", ".first", f"queue {min(again)} is there already")
    pipeline["queues"].append(content)


def _remove_queues(pipeline: Pipeline, content: Any) -> None:
    if missing := set(_ids(content)) - _taken(pipeline):
        raise _Refused("unknown_queue", ".first", f"no queue {min(missing)}")
    pipeline["queues"] = [
        part for entry in pipeline["queues"] for part in _without(entry, set(_ids(content)))
    ]


def _modify_queues(pipeline: Pipeline, content: Any) -> None:
    _remove_queues(pipeline, content)
    pipeline["queues"].append(content)
    pipeline["queues"].sort(key=lambda entry: entry["first"])


def _without(entry: Mapping[str, Any], gone: set[int]) -> list[dict[str, Any]]:
    """The runs of a queue set that stay."""
    runs: list[dict[str, Any]] = []
    for number in _ids(entry):
        if number in gone:
            continue
        if runs and runs[-1]["first"] + runs[-1]["count"] == number:
            runs[-1]["count"] += 1
        else:
            runs.append({**entry, "first": number, "count": 1})
    return runs


_EDITS = {
    "set_classifier": _set("classifier"),
    "add_filter": _add_filter,
    "remove_filter": _remove_filter,
    "add_queues": _add_queues,
    "modify_queues": _modify_queues,
    "remove_queues": _remove_queues,
    "set_scheduler": _set("scheduler"),
    "set_pacer": _set("pacer"),
    "set_buffer": _set("buffer"),
    "set_name": _set("name"),
}
