"""`--over PATH=VALUES`: an axis of a sweep."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from gnb_lab._native import parse_override
from gnb_lab.results import SweepError

MAX_VALUES: Final = 100_000
"""Most values of an axis."""
_MAX_DIGITS: Final = 15
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_EXPECTED: Final = "expected PATH=VALUES such as cell.n_prb=51,106 or cell.n_prb=24..106..12"


@dataclass(frozen=True, slots=True)
class Axis:
    """An element of the scenario and the values that it takes in turn.

    Attributes:
        path: Path of the element, as of `--set`, such as `ues[*].channel.fading.mean_snr_db`.
        values: Values of JSON; at least one, none twice.
    """

    path: str
    values: tuple[Any, ...]

    @classmethod
    def of(cls, path: str, values: Sequence[Any]) -> Axis:
        """An axis of values as they are.

        Raises:
            SweepError: The path is malformed, a value is there twice, there is none or too many.
        """
        _override(f"{path}=")
        if not 0 < len(values) <= MAX_VALUES:
            raise _refused(f"{path}: {len(values)} values; expected 1 to {MAX_VALUES}")
        known: set[str] = set()
        for value in values:
            if (text := canonical(value)) in known:
                raise _refused(f"{path}: the value {label(value)} is there twice")
            known.add(text)
        return cls(path, tuple(values))

    @classmethod
    def parse(cls, text: str) -> Axis:
        """An axis of its text: values separated by commas, each YAML or a range of numbers.

        Raises:
            SweepError: The text is no axis.

        >>> Axis.parse("cell.n_prb=24,50..54..2")
        Axis(path='cell.n_prb', values=(24, 50, 52, 54))
        """
        path, equals, given = text.partition("=")
        if not equals:
            raise _refused(f"'{text}': {_EXPECTED}")
        _override(f"{path}=")
        values: list[Any] = []
        for item in map(str.strip, _items(given)):
            if not item:
                raise _refused(f"'{text}': a value is missing; {_EXPECTED}")
            numbers = _numbers(path, item)
            values += [_override(f"{path}={item}")] if numbers is None else numbers
            if len(values) > MAX_VALUES:
                raise _refused(f"{path}: more than {MAX_VALUES} values")
        return cls.of(path, values)


def canonical(value: Any) -> str:
    """A value as JSON: the same text for the same value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def label(value: Any) -> str:
    """A value as text: words without quotes, everything else as JSON."""
    return value if isinstance(value, str) else canonical(value)


def _refused(message: str) -> SweepError:
    return SweepError(f"--over: {message}", is_input=True)


def _override(text: str) -> Any:
    """The value of `PATH=VALUE`."""
    try:
        return parse_override(text)[1]
    except ValueError as error:
        raise _refused(str(error)) from error


def _items(text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets and no quotes. As in YAML, a quote begins a
    value, after another it goes on, and between double quotes a backslash is before a character
    that ends nothing."""
    begin, depth, quote, is_escaped, before = 0, 0, "", False, ","
    for at, character in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif quote == '"' and character == "\\":
            is_escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and before in ",[{:'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth <= 0:
            yield text[begin:at]
            begin = at + 1
        if not character.isspace():
            before = character
    yield text[begin:]


def _numbers(path: str, text: str) -> list[int] | list[float] | None:
    """The numbers of `FIRST..LAST` or `FIRST..LAST..STEP`, the last included if a step ends there;
    None if the text is no range. Decimal fractions do not drift."""
    first, *others = map(_decimal, text.split(".."))
    if first is None or len(others) not in (1, 2):
        return None
    last, step = (*others, Decimal(1))[:2]
    if last is None or step is None:
        message = "expected a range such as 4..20..4, with decimal numbers"
        raise _refused(f"{path}: '{text}': {message}")
    if step <= 0 or last < first:
        wrong = "its step is not above 0" if step <= 0 else "it ends before it begins"
        raise _refused(f"{path}: '{text}': {wrong}; expected a range such as 4..20..4")
    count = int((last - first) / step) + 1
    if count > MAX_VALUES:
        message = f"{count} values; a range has at most {MAX_VALUES}"
        raise _refused(f"{path}: '{text}': {message}")
    if "." in text.replace("..", ""):
        return [float(first + index * step) for index in range(count)]
    return [int(first + index * step) for index in range(count)]


def _decimal(text: str) -> Decimal | None:
    is_number = _NUMBER.fullmatch(text) and len(text.lstrip("-").replace(".", "")) <= _MAX_DIGITS
    return Decimal(text) if is_number else None
