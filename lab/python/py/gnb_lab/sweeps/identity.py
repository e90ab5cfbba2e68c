"""What the runs of a folder depend on, by which a later call finds out what has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from gnb_lab import _native
from gnb_lab.results import SweepError, read_json, write_json
from gnb_lab.sweeps.axis import canonical
from gnb_lab.sweeps.plan import Plan

SWEEP_FILE: Final = "sweep.json"
"""Scenario, axes and runs of a sweep."""
RUN_FILE: Final = "run.json"
"""Digest of what a finished run depends on."""
_MAX_NAMED: Final = 5
"""Changed elements that are named."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What the runs of a sweep depend on beside their scenarios.

    Attributes:
        program: Digest of the module that makes runs.
        formats: Formats of the tables of each run.
        packets: Whether there is a table of packets.
    """

    program: str
    formats: list[str]
    packets: bool

    def digest(self, tree: Any, inputs: Mapping[str, str]) -> str:
        """Digest of everything that a run depends on: also its scenario, and the digests of the
        files that this names."""
        whole = {**asdict(self), "scenario": tree, "inputs": dict(inputs)}
        return hashlib.sha256(canonical(whole).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def program() -> str:
    """Digest of the module that makes runs: results of another build are never used."""
    return file_digest(Path(_native.__file__))


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal digits.

    Raises:
        SweepError: It cannot be read.
    """
    try:
        if path.exists() and not path.is_file():
            raise SweepError(f"{path}: not a regular file", is_input=True)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SweepError(f"{path}: {reason}", is_input=True) from error


def input_paths(tree: Any) -> Iterator[str]:
    """The paths of the files that a scenario names: the values of all keys named `path`."""
    if isinstance(tree, dict):
        for key, inner in tree.items():
            if key == "path" and isinstance(inner, str):
                yield inner
            else:
                yield from input_paths(inner)
    elif isinstance(tree, list):
        for inner in tree:
            yield from input_paths(inner)


def relocated(tree: Any, places: Mapping[str, str]) -> Any:
    """The scenario with other paths of the files that it names."""
    if isinstance(tree, dict):
        return {
            key: places[inner]
            if key == "path" and isinstance(inner, str)
            else relocated(inner, places)
            for key, inner in tree.items()
        }
    return [relocated(inner, places) for inner in tree] if isinstance(tree, list) else tree


def describe(plan: Plan, identity: Identity) -> dict[str, Any]:
    """The content of `sweep.json`."""
    return {
        **asdict(identity),
        "scenario": plan.base.tree,
        "axes": [axis.path for axis in plan.axes],
        "runs": [
            {"folder": run.name, "values": list(run.values), "seed": run.seed} for run in plan.runs
        ],
    }


def read_description(folder: Path) -> dict[str, Any]:
    """The content of the `sweep.json` of a folder.

    Raises:
        SweepError: It is missing or not that of a sweep.
    """
    path = folder / SWEEP_FILE
    found: dict[str, Any] = read_json(path, "description of a sweep")
    runs, axes = found.get("runs"), found.get("axes")
    is_whole = (
        isinstance(axes, list)
        and all(isinstance(axis, str) for axis in axes)
        and isinstance(runs, list)
        and all(_is_run(run, len(axes)) for run in runs)
    )
    if not is_whole:
        message = "expected axes, and runs with folder, values and seed"
        raise SweepError(f"{path}: not the description of a sweep: {message}", is_input=True)
    return found


def _is_run(run: Any, axes: int) -> bool:
    return (
        isinstance(run, dict)
        and isinstance(run.get("folder"), str)
        and Path(run["folder"]).name == run["folder"]
        and isinstance(run.get("values"), list)
        and len(run["values"]) == axes
        and isinstance(run.get("seed"), int)
    )


def check_unchanged(folder: Path, now: Mapping[str, Any]) -> None:
    """Refuses a folder whose runs are of something else.

    Raises:
        SweepError: What has changed, with both values.
    """
    there = read_description(folder)
    changed: list[str] = []
    if there.get("program") != now["program"]:
        changed.append("another build of gnb-lab")
    if any(there.get(key) != now[key] for key in ("formats", "packets")):
        changed.append("other --format or --packets")
    if there["axes"] != now["axes"]:
        changed.append(f"other axes ({', '.join(there['axes'])})")
    if elements := list(_differences(there.get("scenario"), now["scenario"], "")):
        more = len(elements) - _MAX_NAMED
        named = elements[:_MAX_NAMED] + [f"and {more} more"] * (more > 0)
        changed.append(f"another scenario ({'; '.join(named)})")
    if changed:
        raise _changed(folder / SWEEP_FILE, f"its runs are of {', '.join(changed)}")


def is_finished(folder: Path, digest: str) -> bool:
    """Whether a folder has the finished run of this digest. A damaged one is none.

    Raises:
        SweepError: It has a run of another digest: a file that the scenario reads has changed.
    """
    path = folder / RUN_FILE
    if not path.exists():
        return False
    try:
        there = read_json(path, "description of a run").get("digest")
    except SweepError:
        return False
    if there != digest:
        raise _changed(path, "the files that its scenario reads have changed since")
    return True


def finish(folder: Path, digest: str) -> None:
    """Marks a folder as a finished run."""
    write_json(folder / RUN_FILE, {"digest": digest})


def _changed(path: Path, what: str) -> SweepError:
    message = f"{path}: {what}; choose another --out, or run all again with --restart"
    return SweepError(message, is_input=True)


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    """Elements that differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _differences(a, b, f"{path}[{index}]")
    elif canonical(old) != canonical(new):
        yield f"{path}: {_short(old)} there, {_short(new)} now"


def _short(value: Any) -> str:
    """A value, or what it is if it has parts."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    return f"a list of {len(value)}" if isinstance(value, list) else canonical(value)
