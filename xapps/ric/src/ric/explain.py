"""Pydantic's validation errors as one line each: `place: problem; expected …`.

For settings, and for other files that people write, such as policies.
"""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from ric.flags import FormerName

Location = tuple[int | str, ...]


class PlacedError(ValueError):
    """Raised by a validator for a value below the one it validates; `place` is the path to it."""

    def __init__(self, place: Location, problem: str) -> None:
        super().__init__(problem)
        self.place = place


MAX_PROBLEMS: Final = 100
"""Problems that are explained; a file of a megabyte may have half a million."""
_SHOWN_CHARACTERS: Final = 60

_COMPARISONS: Final = {
    "greater_than": ("gt", ">"),
    "greater_than_equal": ("ge", "≥"),
    "less_than": ("lt", "<"),
    "less_than_equal": ("le", "≤"),
    "multiple_of": ("multiple_of", "a multiple of"),
}
_NAMES: Final[tuple[tuple[type, str], ...]] = (
    # A bool is an int, a str is a sequence: the first that fits.
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "text"),
    (Path, "a file name"),
    (BaseModel, "a mapping"),
    (Mapping, "a mapping"),
    (Collection, "a list"),
)
_KINDS: Final = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "path_type": "a file name",
}


def explain_validation_error(
    error: ValidationError,
    source: str | Callable[[Location], str],
    model: type[BaseModel] | None = None,
    data: Any = None,
) -> list[str]:
    """One line for each of the first `MAX_PROBLEMS` problems: `place: problem; expected …`.

    The place is `source`, the name of a file, and the path in it; or what `source` returns for a
    location. With `model`, unknown keys are answered with the known ones and missing ones with
    their description. With `data`, what was validated, the path is that of the file even where the
    model has unions.
    """
    lines = []
    for problem in error.errors(include_url=False)[:MAX_PROBLEMS]:
        location = problem["loc"] if data is None else _as_written(problem["loc"], data)
        location += getattr(problem.get("ctx", {}).get("error"), "place", ())
        place = f"{source}: {dotted(location)}" if isinstance(source, str) else source(location)
        lines.append(f"{place.removesuffix(': ')}: {_describe(problem, location, model)}")
    if (more := error.error_count() - len(lines)) > 0:
        lines.append(f"{more} further problems")
    return lines


def dotted(location: Sequence[int | str]) -> str:
    """A location as people write it: `flows[2].rate_bps`."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    return path


def _describe(problem: Any, location: Location, model: type[BaseModel] | None) -> str:
    if problem["type"] == "missing":
        return f"missing; expected {_what_belongs(model, location)}"
    if problem["type"] == "extra_forbidden":
        return _unknown_key(location, model)
    # A whole group is not shown: it is long, and may hold a secret.
    value = problem["input"]
    text = _misfit(problem)
    if isinstance(value, Mapping | BaseModel):
        return text.lstrip(": ") if text.startswith(":") else f"the mapping{text}"
    return f"{'***' if _is_secret(model, location) else _shown(value)}{text}"


def _misfit(problem: Any) -> str:
    kind: str = problem["type"]
    context: Mapping[str, Any] = problem.get("ctx", {})
    if kind in _COMPARISONS:
        key, sign = _COMPARISONS[kind]
        return f" is out of range; expected {sign} {context[key]}"
    if kind in _KINDS:
        return f" does not fit; expected {_KINDS[kind]}"
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        choices = context.get("expected") or context.get("expected_tags")
        return f" is not one of the choices; expected {choices}"
    if kind == "value_error":
        # Our validators raise "problem; expected …".
        return f": {context['error']}"
    return f": {problem['msg']}"


def _unknown_key(location: Location, model: type[BaseModel] | None) -> str:
    parent = _model_at(model, location[:-1])
    if parent is None:
        return "unknown key; expected no such key"
    fields = _keys_of(parent)
    for name, field in fields.items():
        former = {mark.name for mark in field.metadata if isinstance(mark, FormerName)}
        if location[-1] in former:
            return f"unknown key; expected {name}"
    known = sorted(fields)
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"unknown key{hint}; expected one of {', '.join(known)}"


def _what_belongs(model: type[BaseModel] | None, location: Location) -> str:
    """The kind of a field's value and what it is for: `a list: the rules of the policy`."""
    parent = _model_at(model, location[:-1])
    field = _keys_of(parent).get(str(location[-1])) if parent is not None and location else None
    kind = "a value" if field is None else _kind_of(field.annotation)
    text = field_description(model, location)
    return f"{kind}: {text}" if text else kind


def _kind_of(annotation: Any) -> str:
    """A type as people name it."""
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Literal:
        return " or ".join(map(str, arguments))
    if origin is typing.Annotated:
        return _kind_of(arguments[0])
    if origin in (typing.Union, types.UnionType):
        kinds = dict.fromkeys(_kind_of(one) for one in arguments if one is not type(None))
        return " or ".join(kinds)
    plain = origin or annotation
    if not isinstance(plain, type):
        return "a value"
    return next((text for kind, text in _NAMES if issubclass(plain, kind)), "a value")


def field_description(model: type[BaseModel] | None, location: Location) -> str:
    """The first sentence of a field's description, "" when there is none."""
    parent = _model_at(model, location[:-1])
    if parent is None or not location:
        return ""
    field = _keys_of(parent).get(str(location[-1]))
    text = (field.description or "") if field is not None else ""
    sentence = text.split(". ")[0].rstrip(".")
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _is_secret(model: type[BaseModel] | None, location: Location) -> bool:
    parent = _model_at(model, location[:-1])
    field = _keys_of(parent).get(str(location[-1])) if parent is not None and location else None
    return field is not None and "Secret" in repr(field.annotation)


def _keys_of(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_at(model: type[BaseModel] | None, location: Location) -> type[BaseModel] | None:
    """The model that describes the mapping at `location`, following lists and unions of one."""
    current: Any = model
    for step in location:
        if current is None:
            return None
        if isinstance(step, int):
            continue
        field = _keys_of(current).get(step)
        candidates = _models_in(field.annotation) if field is not None else []
        if len(candidates) != 1:
            return None
        current = candidates[0]
    return current if isinstance(current, type) and issubclass(current, BaseModel) else None


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found = []
    for argument in getattr(annotation, "__args__", ()):
        found += _models_in(argument)
    return found


def _as_written(location: Location, data: Any) -> Location:
    """`location` without the steps that are not in `data`.

    Pydantic adds the chosen member of a union as a step, which is not in the file. The last
    step stays: a missing key is not in `data` either.
    """
    kept: list[int | str] = []
    current = data
    for index, step in enumerate(location):
        last = index == len(location) - 1
        found, below = _step_into(current, step)
        if found:
            current = below
        elif not last or not isinstance(current, Mapping):
            continue
        kept.append(step)
    return tuple(kept)


def _step_into(value: Any, step: int | str) -> tuple[bool, Any]:
    if isinstance(value, Mapping) and step in value:
        return True, value[step]
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return True, value[step]
    return False, None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
