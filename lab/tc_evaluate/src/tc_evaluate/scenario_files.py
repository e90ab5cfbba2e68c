"""Scenario files, and files of situations: a base and, by name, what each situation changes of it.

    base:
      duration_s: 40
      cell: { rat: nr, n_prb: 106, scs_khz: 30 }
      …
    situations:
      cell_edge:
        seed: 106
        cell.n_prb: 51
        ues[0].channel.fixed_mcs: 2

A change names its element as `gnb-lab run --set` does; null takes the element away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ric.bounded_yaml import MAX_DEPTH, YamlError, parse_yaml
from ric.files import UnreadableFile, read_file

from tc_evaluate.errors import EvaluationError

#: Largest file, the limit of the emulated gNB.
_MAX_SCENARIO_BYTES: Final = 1 << 20
#: Most scalars, lists and mappings of all situations of a file together.
_MAX_NODES: Final = 1_000_000
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,9}|\*)\]")
#: Index of every element of a list.
_EACH: Final = -1
_EXPECTED: Final = "expected a path such as cell.n_prb or flows[0].start_s"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario and where it stands."""

    name: str
    path: Path
    content: Mapping[str, Any]
    #: The file is this scenario, and not one of situations.
    is_alone: bool = True

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return str(self.path) if self.is_alone else f"{self.path}: {self.name}"

    def at(self, key: str) -> str:
        """The place of an element, for messages."""
        return f"{self.path}: {key}" if self.is_alone else f"{self.path}: {self.name}.{key}"

    def complaint(self, of_lab: str) -> str:
        """What the lab says of it, with the place where it stands."""
        return of_lab if self.is_alone else self.at(of_lab.removeprefix("scenario: "))

    @property
    def source(self) -> Path | Mapping[str, Any]:
        """What the lab is given."""
        return self.path if self.is_alone else self.content


def read_scenarios(paths: Iterable[Path]) -> list[Scenario]:
    """The scenarios of files and folders.

    Args:
        paths: scenario files, files of situations, or folders whose ``*.yaml`` are such files.

    Raises:
        EvaluationError: a file is missing, is no scenario, or changes what its base does not have;
            two scenarios have one name.
    """
    scenarios: dict[str, Scenario] = {}
    for path in _files(paths):
        for scenario in _scenarios_of(path):
            if scenario.name in scenarios:
                first = scenarios[scenario.name].path
                problem = f"{first} has the same name; names must differ"
                raise EvaluationError(f"{scenario.place}: {problem}")
            scenarios[scenario.name] = scenario
    return list(scenarios.values())


def write_scenarios(scenarios: Iterable[Scenario], folder: Path) -> list[Path]:
    """Write each as a scenario file of its own; returns the files.

    Raises:
        EvaluationError: a file exists or cannot be written.
    """
    written = []
    for scenario in scenarios:
        path = folder / f"{scenario.name}.yaml"
        # JSON is YAML, and no reader takes a word in quotes for a number.
        text = json.dumps(scenario.content, ensure_ascii=False, indent=2) + "\n"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            problem = f"cannot be written: {error.strerror}; expected a new file"
            raise EvaluationError(f"{path}: {problem}") from error
        written.append(path)
    return written


def _files(paths: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            found = sorted(path.glob("*.yaml"))
            if not found:
                raise EvaluationError(f"{path}: no *.yaml in this folder; expected scenarios")
            files += found
        elif path.is_file():
            files.append(path)
        else:
            raise EvaluationError(f"{path}: no such file or folder; expected a scenario")
    return files


def _scenarios_of(path: Path) -> list[Scenario]:
    """The scenario of a file, or its situations."""
    try:
        content = parse_yaml(read_file(path, _MAX_SCENARIO_BYTES).decode("utf-8"))
    except UnreadableFile as error:
        raise EvaluationError(str(error)) from error
    except (YamlError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path}: {error}") from error
    if not isinstance(content, dict):
        raise EvaluationError(f"{path}: expected a scenario, a mapping")
    if "situations" not in content:
        return [Scenario(path.stem, path, content)]
    try:
        return [
            Scenario(name, path, scenario, is_alone=False)
            for name, scenario in expanded(content).items()
        ]
    except EvaluationError as error:
        raise EvaluationError(f"{path}: {error}") from None


def expanded(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The scenarios of a base and its situations, by name.

    Raises:
        EvaluationError: names the situation and the element.
    """
    for key in content:
        if key not in ("base", "situations"):
            raise EvaluationError(f"{key}: unknown key; expected base and situations")
    base, situations = content.get("base", {}), content["situations"]
    for key, value in (("base", base), ("situations", situations)):
        if not isinstance(value, dict):
            raise EvaluationError(f"{key}: expected a mapping")
    if not situations:
        raise EvaluationError("situations: empty; expected one or more")
    expansion = _Expansion()
    scenarios = {}
    for name, changes in situations.items():
        if not re.fullmatch(r"[\w-]+", name):
            raise EvaluationError(f"situations: {name!r}: expected letters, digits, - and _")
        if not isinstance(changes, dict):
            raise EvaluationError(f"{name}: expected a mapping of changes")
        scenario: dict[str, Any] = {"name": name, **expansion.copy(base)}
        for path, value in changes.items():
            try:
                expansion.change(scenario, _steps(path), value)
            except ValueError as error:
                raise EvaluationError(f"{name}.{path}: {error}") from None
        scenarios[name] = scenario
    return scenarios


class _Expansion:
    """Copies and changes values, up to a number of nodes; situations share none of them."""

    def __init__(self) -> None:
        self._left = _MAX_NODES

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            problem = f"more than {_MAX_NODES} nodes in all; expected at most that"
            raise EvaluationError(f"situations: {problem}")

    def copy(self, value: Any) -> Any:
        """A value with nothing in common with the given one."""
        self._count()
        if isinstance(value, dict):
            return {key: self.copy(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.copy(item) for item in value]
        return value

    def change(self, place: Any, steps: Sequence[str | int], value: Any) -> None:
        """Changes an element; mappings on the way are made, elements of lists must be there.

        Raises:
            ValueError: what is not there.
        """
        self._count()
        step, rest = steps[0], steps[1:]
        if isinstance(step, str):
            if not isinstance(place, dict):
                raise ValueError(f"{step!r} is not within a mapping")  # noqa: TRY004 - of the file
            if rest:
                self.change(place.setdefault(step, {}), rest, value)
            elif value is None:
                place.pop(step, None)
            else:
                place[step] = self.copy(value)
            return
        shown = "*" if step == _EACH else step
        if not isinstance(place, list):
            raise ValueError(f"[{shown}] is not within a list")  # noqa: TRY004 - of the file
        if not place or step >= len(place):
            raise ValueError(f"[{shown}] is not there; the list has {len(place)}")
        for index in range(len(place)) if step == _EACH else (step,):
            if rest:
                self.change(place[index], rest, value)
            else:
                place[index] = self.copy(value)


def _steps(path: str) -> list[str | int]:
    """Keys and indices."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        # A dot stands before each key but the first.
        if found is None or found[0].startswith(".") != bool(found[1] and at):
            raise ValueError(_EXPECTED)
        steps.append(found[1] if found[1] else _EACH if found[2] == "*" else int(found[2]))
        at = found.end()
    if not steps or not isinstance(steps[0], str) or len(steps) > MAX_DEPTH:
        raise ValueError(_EXPECTED)
    return steps
