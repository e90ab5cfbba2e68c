"""Situations: scenarios, each with the flows that are measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tc_evaluate.errors import EvaluationError
from tc_evaluate.scenario_files import Scenario, read_scenarios

#: Channels that read a file, which `traces` may have.
_RECORDED: Final = ("mahimahi", "ucc_csv")


@dataclass(frozen=True, slots=True)
class Situation:
    """A scenario to be run under each arm.

    Its duration, seed and channels are the scenario's; ``overrides`` holds the recordings that are
    found elsewhere than the scenario says.
    """

    name: str
    scenario: Scenario
    duration_s: float
    seed: int
    bearers: tuple[tuple[int, int], ...]
    overrides: Mapping[str, str]
    #: Digest of what the scenario says: results of another version are not taken for its own.
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
        paths: see `read_scenarios`.
        traces: folder in which recordings are looked for that do not exist beside the scenario.

    Raises:
        EvaluationError: a file is missing or is no scenario; two situations have one name.
    """
    situations = []
    skipped = []
    for scenario in read_scenarios(paths):
        missing, overrides = _recordings(scenario, traces)
        if missing is not None:
            where = "--traces names the folder" if traces is None else f"not in {traces} either"
            skipped.append(f"{scenario.place}: skipped: {missing} is not there; {where}")
            continue
        text = json.dumps(scenario.content, sort_keys=True)
        situation = Situation(
            name=scenario.name,
            scenario=scenario,
            duration_s=_number(scenario, "duration_s", 0.0),
            seed=int(_number(scenario, "seed", 1)),
            bearers=tuple(
                (number, drb)
                for number, ue in enumerate(_list(scenario.content, "ues"))
                for drb in range(len(_list(ue, "drbs")))
            ),
            overrides=overrides,
            digest=hashlib.sha256(text.encode()).hexdigest()[:16],
        )
        if situation.duration_s <= 0.0:
            problem = "not given; a situation needs an end"
            raise EvaluationError(f"{scenario.at('duration_s')}: {problem}")
        if not any(flow.get("kind") == "ping" for flow in _list(scenario.content, "flows")):
            problem = "no flow of kind ping; delay is measured by one"
            raise EvaluationError(f"{scenario.at('flows')}: {problem}")
        situations.append(situation)
    return situations, skipped


def _number(scenario: Scenario, name: str, default: float) -> float:
    """A number of the scenario; the lab checks its range."""
    value = scenario.content.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EvaluationError(f"{scenario.at(name)}: {value!r}; expected a number")
    return value


def _list(holder: Any, name: str) -> Sequence[Any]:
    """The mappings under a name; what is no list of mappings is left to the lab to refuse."""
    items = holder.get(name) if isinstance(holder, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _recordings(scenario: Scenario, traces: Path | None) -> tuple[str | None, dict[str, str]]:
    """The first recording that is nowhere, and where the others are found outside the scenario."""
    overrides = {}
    for number, ue in enumerate(_list(scenario.content, "ues")):
        channel = ue.get("channel")
        for kind in _RECORDED:
            source = channel.get(kind) if isinstance(channel, dict) else None
            name = source.get("path") if isinstance(source, dict) else None
            if not isinstance(name, str):
                continue
            beside = scenario.path.parent / name
            if scenario.is_alone and beside.exists():
                # The lab finds it.
                continue
            places = [beside] if traces is None else [beside, traces / name]
            found = next(filter(Path.exists, places), None)
            if found is None:
                return name, {}
            overrides[f"ues[{number}].channel.{kind}.path"] = str(found.resolve())
    return None, overrides
