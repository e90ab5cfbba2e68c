"""YAML of settings, policies and access files: bounded, and with the types of YAML 1.2 alone.

PyYAML's own constructors read `59:59` as a number to the base 60, `on` as true and `2020-13-45` as
an error of `datetime`; they raise `KeyError`, `AttributeError` or `OverflowError` on some scalars.
Here its parser supplies events only, and values are built as YAML 1.2.2 §10.3 (core schema) says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

MAX_NODES: Final = 50_000
"""Scalars, lists and mappings of a document, those of aliases counted each time."""
MAX_DEPTH: Final = 32
_MAX_DIGITS: Final = 40
"""Most digits of an integer: conversion takes quadratic time, and Python prints at most 4300."""
_MERGE: Final = "<<"

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NON_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(ValueError):
    """Text that is not YAML, or YAML that is not accepted; `line` counts from 1, 0 if unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.line = line


def parse_yaml(text: str, max_nodes: int = MAX_NODES) -> Any:
    """The document in `text`, of None, bool, int, float, str, list and dict with keys of str.

    Raises `YamlError`: syntax, more than one document, tags, duplicate keys, keys that are no
    scalars, integers of more than 40 digits, non-finite numbers, more than `max_nodes` nodes,
    nesting deeper than `MAX_DEPTH`.
    """
    try:
        return _Builder(yaml.parse(text, Loader=_Loader), max_nodes).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise YamlError(
            f"not YAML: {error.problem}", 0 if mark is None else int(mark.line) + 1
        ) from None
    except yaml.YAMLError as error:
        raise YamlError(f"not YAML: {' '.join(str(error).split())}") from None


class _Builder:
    """Builds values from the events of one document."""

    def __init__(self, events: Iterator[yaml.Event], max_nodes: int) -> None:
        self._events = events
        self._max_nodes = max_nodes
        self._nodes = 0
        # Value and number of nodes of each anchor.
        self._anchors: dict[str, tuple[Any, int]] = {}

    def document(self) -> Any:
        next(self._events)  # StreamStart
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        value = self._value(next(self._events), 0)
        next(self._events)  # DocumentEnd
        if not isinstance(after := next(self._events), yaml.StreamEndEvent):
            raise YamlError("a second document; expected one", _line(after))
        return value

    def _value(self, event: yaml.Event, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._nodes
        self._count(1, event)
        if depth >= MAX_DEPTH:
            raise YamlError(f"nested deeper than {MAX_DEPTH}; expected at most that", _line(event))
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise YamlError(f"tag {_brief(tag)}; expected none", _line(event))
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            value = _plain(event) if event.implicit[0] else event.value
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._list(depth)
        else:
            value = self._mapping(depth)
        if (anchor := getattr(event, "anchor", None)) is not None:
            self._anchors[anchor] = (value, self._nodes - before)
        return value

    def _alias(self, event: yaml.AliasEvent) -> Any:
        anchor = event.anchor or ""
        if anchor not in self._anchors:
            problem = f"alias *{_brief(anchor)}; expected an anchor that ends before it"
            raise YamlError(problem, _line(event))
        value, nodes = self._anchors[anchor]
        # What follows walks the value once for each alias.
        self._count(nodes, event)
        return value

    def _count(self, nodes: int, event: yaml.Event) -> None:
        self._nodes += nodes
        if self._nodes > self._max_nodes:
            problem = f"more than {self._max_nodes} nodes, aliases expanded; expected at most that"
            raise YamlError(problem, _line(event))

    def _list(self, depth: int) -> list[Any]:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if isinstance(event, yaml.AliasEvent):
                key = self._alias(event)
            else:
                self._value(event, depth + 1)
                key = event.value if isinstance(event, yaml.ScalarEvent) else None
            if not isinstance(key, str):
                raise YamlError("a key that is no scalar; expected text", _line(event))
            value = self._value(next(self._events), depth + 1)
            if key == _MERGE and getattr(event, "implicit", (False,))[0]:
                _merge(value, merged, event)
            elif key in own:
                raise YamlError(f"key {_brief(key)!r} given twice; expected one", _line(event))
            else:
                own[key] = value
        return merged | own


def _merge(value: Any, merged: dict[str, Any], event: yaml.Event) -> None:
    """The merge key (https://yaml.org/type/merge.html): the first mapping with a key counts."""
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict):
            raise YamlError("<< of something else; expected a mapping", _line(event))
        for key, item in one.items():
            merged.setdefault(key, item)


def _plain(event: yaml.ScalarEvent) -> Any:
    """The value of a scalar without quotes."""
    text = event.value
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        if len(text) > _MAX_DIGITS:
            problem = f"an integer of {len(text)} characters; expected at most {_MAX_DIGITS}"
            raise YamlError(problem, _line(event))
        return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))
    if _NON_FINITE.fullmatch(text):
        raise YamlError(f"{text}; expected a finite number", _line(event))
    if _FLOAT.fullmatch(text):
        if not math.isfinite(value := float(text)):
            raise YamlError(f"{_brief(text)}; expected a finite number", _line(event))
        return value
    return text


def _line(event: yaml.Event) -> int:
    return 0 if event.start_mark is None else int(event.start_mark.line) + 1


def _brief(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
