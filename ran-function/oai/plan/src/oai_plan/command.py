"""The subcommand `ric plan`: arguments and output."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

from pydantic import Field
from ric.errors import SettingsError
from ric.flags import number
from ric.settings import GatewaySettings, ProgramSettings, add_settings_arguments, settings_from
from ric.terminal import complain, show

from oai_plan.evidence import Evidence, look
from oai_plan.shapes import ADAPTER, AdapterError
from oai_plan.steps import Step, steps
from oai_plan.trees import PlanError, find

_DESCRIPTION: Final = """Print what to build, start and preload, in which order, to get from source
trees of OpenAirInterface and FlexRIC to a bearer under control. With --check, say which of it is
done, by what is there: files of this build, processes of this machine, nodes and bearers at the E2
gateway. Changes nothing. The exit status is 0 if all is done or nothing was checked, 1 if a step is
left, 2 for folders that are not what they were given as."""
EXAMPLE: Final = "ric plan --oai ~/openairinterface5g --flexric ~/flexric --check"
SOJOURN: Final = ADAPTER.parents[2]
WIDTH: Final = 100


class PlanSettings(ProgramSettings):
    """Where a plan is looked after."""

    gateway: GatewaySettings = Field(
        default_factory=GatewaySettings, title="Gateway", description="The E2 gateway."
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = f"example:\n  {EXAMPLE}"
    folder: dict[str, Any] = {"type": Path, "metavar": "DIR"}
    parser.add_argument("--oai", required=True, help="OpenAirInterface's source tree", **folder)
    parser.add_argument(
        "--flexric", help="FlexRIC's, of the near-RT RIC (default: OAI's submodule)", **folder
    )
    parser.add_argument("--oai-build", help="build of OAI (default: its folder build)", **folder)
    parser.add_argument("--flexric-build", help="build of FlexRIC (default: alike)", **folder)
    parser.add_argument(
        "--models",
        default=Path("/usr/local/lib/flexric"),
        help="service models of RIC, gNB and bridge (default: %(default)s)",
        **folder,
    )
    parser.add_argument("--sojourn", default=SOJOURN, help="this project's source tree", **folder)
    parser.add_argument(
        "--ric",
        default="127.0.0.1",
        metavar="HOST",
        help="of the near-RT RIC (default: %(default)s)",
    )
    parser.add_argument("--check", action="store_true", help="say which steps are done")
    parser.add_argument(
        "--seconds",
        type=number(0.1, 60, "seconds"),
        default=3.0,
        help="longest wait for the gateway (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    add_settings_arguments(parser, PlanSettings)


def run(given: argparse.Namespace) -> int:
    """Print the plan, or what of it is done; returns the exit status."""
    try:
        settings = settings_from(PlanSettings, given).gateway
        trees = find(
            given.oai,
            given.flexric,
            sojourn=given.sojourn,
            oai_build=given.oai_build,
            flexric_build=given.flexric_build,
            models=given.models,
        )
        planned = steps(trees, given.ric, settings.address)
        found = _evidence(planned, settings, given.seconds) if given.check else None
    except (PlanError, AdapterError, SettingsError) as error:
        complain("ric plan", error)
        return 2
    if given.json:
        sys.stdout.write(json.dumps(as_json(planned, found)) + "\n")
    else:
        show(text(planned) if found is None else table(planned, found))
    return 0 if found is None or all(each.done for each in found) else 1


def _evidence(planned: list[Step], settings: GatewaySettings, seconds: float) -> list[Evidence]:
    seen = asyncio.run(look(settings, seconds))
    return [step.evidence(seen) for step in planned]


def text(planned: list[Step]) -> str:
    """The plan: each step with its commands."""
    lines = []
    for at, step in enumerate(planned, 1):
        takes = f" ({step.takes})" if step.takes else ""
        lines.append(_wrapped(f"{step.name}: {step.what}{takes}", f"{at:>2}. "))
        lines += [f"      {command}" for command in step.commands]
    lines += ["", "The same command with --check says which steps are done and which is next."]
    return "".join(f"{line}\n" for line in lines)


def table(planned: list[Step], found: list[Evidence]) -> str:
    """What is done, and the first step that is not, with its commands."""
    width = max(len(step.name) for step in planned)
    first = next((at for at, each in enumerate(found) if not each.done), None)
    lines = []
    for at, (step, each) in enumerate(zip(planned, found, strict=True)):
        state = "done" if each.done else "next" if at == first else "open"
        lines.append(_wrapped(each.text, f"{state}  {step.name:<{width}}  "))
    if first is None:
        lines += ["", "All steps are done."]
    else:
        lines += ["", f"Next: {planned[first].what}"]
        lines += [f"  {command}" for command in planned[first].commands]
    return "".join(f"{line}\n" for line in lines)


def _wrapped(shown: str, head: str) -> str:
    return textwrap.fill(
        shown,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_json(planned: list[Step], found: list[Evidence] | None) -> dict[str, Any]:
    """The same as plain values."""
    rows: list[dict[str, Any]] = [
        {
            "step": step.name,
            "what": step.what,
            "commands": list(step.commands),
            "takes": step.takes or None,
        }
        for step in planned
    ]
    for row, each in zip(rows, found or [], strict=False):
        row.update(done=each.done, evidence=each.text)
    return {"steps": rows}
