"""A run of a sweep as a message: what another machine needs to make it, to the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gnb_lab._native import FORMATS, Scenario, ScenarioError
from gnb_lab.results import SweepError
from gnb_lab.sweeps import identity
from gnb_lab.sweeps.identity import Identity

_KEYS = {
    "folder": str,
    "inputs": list,
    "digest": str,
    "program": str,
    "formats": list,
    "packets": bool,
    "file": str,
    "scenario": dict,
}


@dataclass(frozen=True, slots=True)
class Input:
    """A file that the scenario of a run reads.

    Attributes:
        path: Place in the scenario.
        source: Location, seen from the machine of the sweep.
        name: Name in the folder of inputs of the machine that makes the run: the same for the
            same content.
    """

    path: str
    source: str
    name: str


@dataclass(frozen=True, slots=True)
class Order:
    """A run to be made.

    Attributes:
        folder: Folder that the run belongs into.
        inputs: Files that its scenario reads.
        digest: Digest of everything that it depends on; also in its `run.json`.
        identity: Identity of the sweep.
        file: The scenario file, for errors.
        scenario: Its content.
    """

    folder: Path
    inputs: tuple[Input, ...]
    digest: str
    identity: Identity
    file: str
    scenario: dict[str, Any]

    def line(self) -> str:
        """The order as JSON."""
        whole = {
            "folder": str(self.folder),
            "inputs": [asdict(each) for each in self.inputs],
            "digest": self.digest,
            **asdict(self.identity),
            "file": self.file,
            "scenario": self.scenario,
        }
        return json.dumps(whole)

    @classmethod
    def parse(cls, line: str) -> Order:
        """Reads an order.

        Raises:
            SweepError: The line is none.
        """
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SweepError(f"order of a run: not JSON: {error}") from error
        if not isinstance(found, dict):
            raise SweepError("order of a run: expected a mapping")
        for key, kind in _KEYS.items():
            if not isinstance(found.get(key), kind):
                message = f"order of a run: {key}: expected a {kind.__name__}"
                raise SweepError(f"{message}, found {found.get(key)!r:.60}")
        if unknown := [name for name in found["formats"] if name not in FORMATS]:
            raise SweepError(f"order of a run: formats: {unknown[0]!r:.60} is unknown")
        return cls(
            Path(found["folder"]),
            tuple(map(_input, found["inputs"])),
            found["digest"],
            Identity(found["program"], found["formats"], found["packets"]),
            found["file"],
            found["scenario"],
        )

    def make(self, inputs: Path, out: Path, is_stopped: Callable[[], bool]) -> bool:
        """Makes the run in `out`, with its input files by name in `inputs`.

        Returns:
            Whether it was made, not stopped.

        Raises:
            SweepError: Another build wrote the order, an input file has another content, or the
                scenario cannot be run.
            OSError: The run cannot be written.
        """
        if identity.program() != self.identity.program:
            raise SweepError(
                "this gnb-lab is another build than that of the sweep;"
                " expected the same on all machines"
            )
        places = {each.path: str(inputs / each.name) for each in self.inputs}
        digests = {path: identity.file_digest(Path(place)) for path, place in places.items()}
        if self.identity.digest(self.scenario, digests) != self.digest:
            message = "its digest is not that of its scenario and input files"
            raise SweepError(f"order of a run: {message}")
        tree = identity.relocated(self.scenario, places)
        scenario = Scenario(tree, self.file, "")
        return make(scenario, out, self.identity, self.digest, is_stopped)


def _input(found: Any) -> Input:
    if (
        not isinstance(found, dict)
        or found.keys() != {"path", "source", "name"}
        or not all(isinstance(text, str) for text in found.values())
    ):
        raise SweepError("order of a run: inputs: expected path, source and name of each")
    if Path(found["name"]).name != found["name"]:
        raise SweepError(f"order of a run: inputs: {found['name']!r} is no name of a file")
    return Input(**found)


def order(
    folder: Path,
    scenario: Scenario,
    inputs: Mapping[str, str],
    own: Identity,
) -> Order:
    """The order of a run in `folder` whose scenario reads `inputs`, path and digest."""
    tree = scenario.tree
    sources = {path: scenario.folder / path for path in inputs}
    # The end of a name says how a trace is compressed.
    files = [
        Input(path, str(sources[path]), f"{digest}{sources[path].suffix}")
        for path, digest in inputs.items()
    ]
    return Order(folder, tuple(files), own.digest(tree, inputs), own, scenario.file, tree)


def make(
    scenario: Scenario,
    folder: Path,
    own: Identity,
    digest: str,
    is_stopped: Callable[[], bool],
) -> bool:
    """Runs a scenario to its end and records it in `folder` with its digest, as a whole or not at
    all: it is made in a folder beside, which is renamed at the end.

    Returns:
        Whether it was made, not stopped.

    Raises:
        SweepError: The scenario cannot be run.
        OSError: The run cannot be written.
    """
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        run = scenario.record(part, own.formats, own.packets)
        while run.step():
            if is_stopped():
                return False
        identity.finish(part, digest)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    except ScenarioError as error:
        raise SweepError(str(error), is_input=True) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return True
