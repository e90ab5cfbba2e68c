"""Situations: scenario files, each with the flows that are measured."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ric.bounded_yaml import YamlError, parse_yaml
from ric.files import UnreadableFile, read_file

from tc_evaluate.errors import EvaluationError

#: Channels that read a file, which `traces` may have.
_RECORDED = ("mahimahi", "ucc_csv")
#: Largest scenario file, the limit of the emulated gNB.
_MAX_SCENARIO_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Situation:
    """A scenario to be run under each arm.

    Its duration, seed and channels are the scenario's; ``overrides`` holds the recordings that are
    found elsewhere than the scenario says.
    """

    name: str
    path: Path
    duration_s: float
    seed: int
    bearers: tuple[tuple[int, int], ...]
    overrides: Mapping[str, str]
    #: Digest of the scenario's text: results of another version are not taken for its own.
    digest: str

    def with_pipeline(self, pipeline: str, seed: int) -> dict[str, Any]:
        """Overrides that put a template on every bearer, and set the seed."""
        bearers = {f"ues[{ue}].drbs[{drb}].pipeline": pipeline for ue, drb in self.bearers}
        return {**self.overrides, **bearers, "seed": seed}


def find_situations(
    paths: Iterable[Path], traces: Path | None
) -> tuple[list[Situation], list[str]]:
    """The situations of files and folders, and a sentence for each that lacks its recording.

    Args:
        paths: scenario files, or folders whose ``*.yaml`` are scenarios.
        traces: folder in which recordings are looked for that do not exist beside the scenario.

    Raises:
        EvaluationError: a file is missing or is no scenario; two situations have one name.
    """
    situations: dict[str, Situation] = {}
    skipped = []
    for path in _files(paths):
        content, scenario = _read(path)
        missing, overrides = _recordings(path, scenario, traces)
        if missing is not None:
            where = "--traces names the folder" if traces is None else f"not in {traces} either"
            skipped.append(f"{path}: skipped: {missing} is not there; {where}")
            continue
        situation = Situation(
            name=path.stem,
            path=path,
            duration_s=_number(path, scenario, "duration_s", 0.0),
            seed=int(_number(path, scenario, "seed", 1)),
            bearers=tuple(
                (number, drb)
                for number, ue in enumerate(_list(scenario, "ues"))
                for drb in range(len(_list(ue, "drbs")))
            ),
            overrides=overrides,
            digest=hashlib.sha256(content).hexdigest()[:16],
        )
        if situation.duration_s <= 0.0:
            raise EvaluationError(f"{path}: duration_s: not given; a situation needs an end")
        if not any(flow.get("kind") == "ping" for flow in _list(scenario, "flows")):
            raise EvaluationError(f"{path}: flows: no flow of kind ping; delay is measured by one")
        if situation.name in situations:
            first = situations[situation.name].path
            raise EvaluationError(f"{path}: {first} has the same name; names must differ")
        situations[situation.name] = situation
    return list(situations.values()), skipped


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


def _read(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The file, and what it holds."""
    try:
        content = read_file(path, _MAX_SCENARIO_BYTES)
        scenario = parse_yaml(content.decode("utf-8"))
    except UnreadableFile as error:
        raise EvaluationError(str(error)) from error
    except (YamlError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path}: {error}") from error
    if not isinstance(scenario, dict):
        raise EvaluationError(f"{path}: expected a scenario, a mapping")
    return content, scenario


def _number(path: Path, scenario: dict[str, Any], name: str, default: float) -> float:
    """A number of the scenario; the lab checks its range."""
    value = scenario.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EvaluationError(f"{path}: {name}: {value!r}; expected a number")
    return value


def _list(holder: Any, name: str) -> Sequence[Any]:
    """The mappings under a name; what is no list of mappings is left to the lab to refuse."""
    items = holder.get(name) if isinstance(holder, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _recordings(
    path: Path, scenario: dict[str, Any], traces: Path | None
) -> tuple[str | None, dict[str, str]]:
    """The first recording that is nowhere, and where the others are found outside the scenario."""
    overrides = {}
    for number, ue in enumerate(_list(scenario, "ues")):
        channel = ue.get("channel")
        for kind in _RECORDED:
            source = channel.get(kind) if isinstance(channel, dict) else None
            name = source.get("path") if isinstance(source, dict) else None
            if not isinstance(name, str) or (path.parent / name).exists():
                continue
            if traces is None or not (traces / name).exists():
                return name, {}
            overrides[f"ues[{number}].channel.{kind}.path"] = str((traces / name).resolve())
    return None, overrides
