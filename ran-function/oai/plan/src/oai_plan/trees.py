"""The operator's folders: sources and builds of OpenAirInterface and FlexRIC, and ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oai_plan.fit import FLEXRIC, OaiError, source_tree

FLEXRIC_FILES: Final = ("CMakeLists.txt", "src/xApp/e42_xapp_api.h", "src/sm/sm_agent.h")
"""What every source tree of FlexRIC has."""
ADAPTER_FILE: Final = "ran-function/oai/adapter/sojourn.cmake"
VERSIONS: Final = {"E2AP_VERSION": "E2AP_V2", "KPM_VERSION": "KPM_V2_03"}
"""Versions that RIC and agent are built with where FlexRIC has not been configured yet."""
CACHE: Final = "CMakeCache.txt"


class PlanError(Exception):
    """A folder that is not what it was given as; the message names it and what was expected."""


@dataclass(frozen=True, slots=True)
class Trees:
    """Folders of a plan."""

    sojourn: Path
    oai: Path
    oai_build: Path
    flexric: Path
    """FlexRIC of the near-RT RIC; the agent's is OAI's submodule."""
    flexric_build: Path
    models: Path
    """Folder of service models of RIC, agent and bridge."""

    @property
    def prefix(self) -> Path:
        """Where `make setup` installs."""
        return self.sojourn / ".venv"

    @property
    def adapter(self) -> Path:
        """The adapter's sources."""
        return self.sojourn / "ran-function/oai/adapter"

    def versions(self) -> dict[str, str]:
        """E2AP and KPM of the RIC's FlexRIC, by its build; the default where there is none."""
        found = cache(self.flexric_build, *VERSIONS)
        return {name: found.get(name, default) for name, default in VERSIONS.items()}

    @property
    def is_submodule(self) -> bool:
        """Whether RIC and agent are of one FlexRIC."""
        return self.flexric == (self.oai / FLEXRIC).resolve()


def find(
    oai: Path,
    flexric: Path | None,
    *,
    sojourn: Path,
    oai_build: Path | None,
    flexric_build: Path | None,
    models: Path,
) -> Trees:
    """The folders of a plan. FlexRIC is OAI's submodule, and builds are `build` of their source,
    unless they are given.

    Raises:
        PlanError: A folder is not what it should be.
    """
    try:
        oai = source_tree(oai)
    except OaiError as error:
        raise PlanError(f"--oai: {error}") from None
    flexric = oai / FLEXRIC if flexric is None else flexric
    if missing := [name for name in FLEXRIC_FILES if not (flexric / name).is_file()]:
        raise PlanError(
            f"--flexric: {flexric}: has no {missing[0]}; expected FlexRIC's source tree"
        )
    if not (sojourn / ADAPTER_FILE).is_file():
        raise PlanError(
            f"--sojourn: {sojourn}: has no {ADAPTER_FILE}; expected Sojourn's source tree"
        )
    flexric = flexric.resolve()
    builds = {"--oai-build": (oai_build, oai), "--flexric-build": (flexric_build, flexric)}
    for flag, (build, source) in builds.items():
        home = "CMAKE_HOME_DIRECTORY"
        of = cache(build, home).get(home) if build is not None else None
        if of is not None and not source.is_relative_to(Path(of).resolve()):
            raise PlanError(
                f"{flag}: {build}: is the build tree of {of}; expected that of {source}"
            )
    return Trees(
        sojourn.resolve(),
        oai,
        (oai_build or oai / "build").resolve(),
        flexric,
        (flexric_build or flexric / "build").resolve(),
        models,
    )


def cache(build: Path, *names: str) -> dict[str, str]:
    """Variables of a build tree of CMake; those that it has."""
    file = build / CACHE
    if not file.is_file():
        return {}
    text = file.read_text(errors="replace")
    found = {name: re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE) for name in names}
    return {name: match[1] for name, match in found.items() if match is not None}
