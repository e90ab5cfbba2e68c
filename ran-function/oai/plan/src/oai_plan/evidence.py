"""What shows that a step is done: files of this build, processes, nodes and bearers."""

from __future__ import annotations

import asyncio
import mmap
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flexric_bridge.installed import TC_MODEL, examine
from flexric_bridge.settings import RicSettings
from ric.e2 import Node, SubscriptionRequest
from ric.errors import GatewayError, ServiceModelError, ServiceModelUnavailable
from ric.gateway import GrpcLink
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID, tc

from oai_plan.check import check, summary
from oai_plan.fit import Level
from oai_plan.trees import VERSIONS, Trees, cache

MARK: Final = b"sojourn: traffic control %s in OAI"
"""Text in the binary of every gNB that the adapter is linked into."""
HOST: Final = "lib/libsojourn_gnb.a"
LIBRARIES: Final = ("libflexric_level_triggered.so", f"flexric/{TC_MODEL}")
"""What `make flexric-bridge flexric-sm` installs beside the module."""
PERIOD_MS: Final = 100


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whether a step is done, and what shows it or is missing."""

    done: bool
    text: str


@dataclass(frozen=True, slots=True)
class Process:
    """A program that runs: its file and the libraries that it has mapped, by name."""

    pid: int
    file: str
    libraries: frozenset[str]


@dataclass(frozen=True, slots=True)
class Seen:
    """What runs: processes of this machine, and what the gateway says."""

    processes: tuple[Process, ...]
    gateway: str
    nodes: tuple[Node, ...] | None
    """Nodes of the gateway; none if it does not answer."""
    bearers: Mapping[str, tuple[Mapping[str, Any], ...]]
    """Status of the pipelines of each node with E2SM-TC v1."""
    problem: str = ""
    """Why the gateway does not answer."""


def library_is_built(trees: Trees) -> Evidence:
    """`make setup` has installed header and library."""
    for name in ("include/sojourn_gnb.h", HOST, "bin/flexric-bridge", "bin/tc-controller"):
        if not (trees.prefix / name).is_file():
            return Evidence(False, f"{trees.prefix} has no {name}")
    return Evidence(True, f"{trees.prefix / HOST} is there")


def oai_fits(trees: Trees) -> Evidence:
    """`make oai-check` has no failure."""
    fit = check(trees.oai, adapter=trees.adapter)
    warned = "; ".join(each.found for each in fit.findings if each.level is Level.WARN)
    if fit.generation is not None and warned:
        return Evidence(False, warned)
    return Evidence(fit.generation is not None, summary(fit))


def ric_is_built(trees: Trees, program: str) -> Evidence:
    """The near-RT RIC is there, of versions that can be read."""
    if not (trees.flexric_build / program).is_file():
        return Evidence(False, f"{trees.flexric_build} has no {program}")
    found = cache(trees.flexric_build, *VERSIONS)
    if missing := VERSIONS.keys() - found.keys():
        return Evidence(False, f"{trees.flexric_build}: its CMakeCache.txt has no {min(missing)}")
    return Evidence(True, f"nearRT-RIC with {', '.join(found.values())}")


def bridge_fits(trees: Trees) -> Evidence:
    """Libraries are installed, and the SDK module is of FlexRIC's library, as the bridge says."""
    for name in LIBRARIES:
        if not (trees.prefix / "lib" / name).is_file():
            return Evidence(False, f"{trees.prefix / 'lib'} has no {name}")
    module, _ = examine(RicSettings().sdk, trees.models)
    return Evidence(not module.fatal, module.text)


def models_fit(trees: Trees) -> Evidence:
    """The folder has service models of one FlexRIC, E2SM-TC v1 too, as the bridge says."""
    _, models = examine(RicSettings().sdk, trees.models)
    is_there = (trees.models / TC_MODEL).is_file()
    return Evidence(is_there and not models.fatal, models.text)


def agent_is_built(trees: Trees, program: str) -> Evidence:
    """The gNB has traffic control of this build, and an E2 agent of the RIC's versions."""
    gnb, library = trees.oai_build / program, trees.prefix / HOST
    if not gnb.is_file():
        return Evidence(False, f"{trees.oai_build} has no {program}")
    if not _contains(gnb, MARK):
        return Evidence(
            False, f"{gnb} has no traffic control: it was configured without the options"
        )
    if library.is_file() and gnb.stat().st_mtime < library.stat().st_mtime:
        return Evidence(False, f"{gnb} is older than {library}: build it again")
    found = cache(trees.oai_build, "E2_AGENT", *VERSIONS)
    if found.get("E2_AGENT") != "ON":
        return Evidence(
            False, f"{gnb} has no E2 agent: E2_AGENT is {found.get('E2_AGENT', 'unset')}"
        )
    for name, wanted in trees.versions().items():
        if found.get(name) != wanted:
            return Evidence(False, f"{name} is {found.get(name, 'unset')}; the RIC's is {wanted}")
    return Evidence(True, f"{gnb} has traffic control and an E2 agent of the RIC's versions")


def _contains(program: Path, text: bytes) -> bool:
    with program.open("rb") as file:
        if program.stat().st_size == 0:
            return False
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
            return content.find(text) >= 0


def program_runs(seen: Seen, program: Path, preloaded: str) -> Evidence:
    """A process of the program runs and has the library preloaded."""
    running = [process for process in seen.processes if Path(process.file).name == program.name]
    ours = [process for process in running if process.file == str(program)]
    if not running:
        return Evidence(
            False, f"no process of {program.name} here (on another machine: look there)"
        )
    if not ours:
        return Evidence(False, f"{program.name} of {running[0].file} runs; expected {program}")
    if preloaded not in ours[0].libraries:
        return Evidence(
            False, f"process {ours[0].pid} has no {preloaded}: start it with LD_PRELOAD"
        )
    return Evidence(True, f"process {ours[0].pid} runs with {preloaded}")


def gateway_answers(seen: Seen) -> Evidence:
    """The gateway lists nodes."""
    if seen.nodes is None:
        return Evidence(False, seen.problem)
    return Evidence(True, f"the E2 gateway at {seen.gateway} answers")


def gnb_is_set_up(seen: Seen) -> Evidence:
    """A node with E2SM-TC v1 is connected."""
    if seen.nodes is None:
        return Evidence(False, "the gateway does not answer")
    if not seen.nodes:
        return Evidence(False, "the gateway has no node")
    with_tc = [node.id for node in seen.nodes if node.ran_function(TC_V1_OID) is not None]
    if not with_tc:
        nodes = ", ".join(node.id for node in seen.nodes)
        return Evidence(False, f"{nodes}: no E2SM-TC v1; has the gNB the folder of service models?")
    return Evidence(True, f"{', '.join(with_tc)}: E2 set-up with E2SM-TC v1")


def bearers_are_controlled(seen: Seen) -> Evidence:
    """Every bearer has a pipeline that a controller installed, or the node default."""
    bearers = [bearer for each in seen.bearers.values() for bearer in each]
    if not bearers:
        return Evidence(False, "no bearer: no UE is connected, or no E2SM-TC v1")
    without = [b for b in bearers if b.get("owner") is None and b.get("by_default") is None]
    names = ", ".join(sorted({str(bearer["name"]) for bearer in without or bearers}))
    if without:
        count = f"{len(without)} of {len(bearers)}"
        return Evidence(False, f"bearers without a controller's pipeline: {count} ({names})")
    return Evidence(True, f"bearers with a controller's pipeline: {len(bearers)} ({names})")


def processes(proc: Path = Path("/proc")) -> tuple[Process, ...]:
    """Programs that run here, as far as they may be read."""
    return tuple(_processes(proc))


def _processes(proc: Path) -> Iterator[Process]:
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            file = str((folder / "exe").readlink())
            lines = (folder / "maps").read_text(errors="replace").splitlines()
        except OSError:
            # It ended, or is another user's.
            continue
        names = frozenset(line.rsplit("/", 1)[1] for line in lines if "/" in line)
        yield Process(int(folder.name), file.removesuffix(" (deleted)"), names)


async def look(settings: GatewaySettings, seconds: float, proc: Path = Path("/proc")) -> Seen:
    """What runs here and behind the gateway; waits for each part no longer than `seconds`."""
    running = await asyncio.to_thread(processes, proc)
    link = GrpcLink(settings)
    try:
        async with asyncio.timeout(seconds):
            nodes = tuple(await link.list_nodes())
        with_tc = [node for node in nodes if node.ran_function(TC_V1_OID) is not None]
        bearers = {node.id: await _bearers(link, node, seconds) for node in with_tc}
    except (GatewayError, TimeoutError) as error:
        problem = str(error) or f"E2 gateway {settings.address}: no answer within {seconds:g} s"
        return Seen(running, settings.address, None, {}, problem)
    finally:
        await link.close()
    return Seen(running, settings.address, nodes, bearers)


async def _bearers(link: GrpcLink, node: Node, seconds: float) -> tuple[Mapping[str, Any], ...]:
    """Pipelines of the first status report of a node; none if there is none in time."""
    action = {"style": "pipeline_status", "bearers": [], "top_flows": 1}
    try:
        request = SubscriptionRequest(
            node.id,
            TC_V1_OID,
            tc.encode("event-trigger", {"periodic": {"period_ms": PERIOD_MS}}),
            (tc.encode("action-definition", action),),
            (),
            1,
        )
        async with asyncio.timeout(seconds), aclosing(link.indications(request)) as indications:
            async for indication in indications:
                found = tc.decode("indication", indication.message, "v1")
                if "pipeline_status" in found:
                    return tuple(found["pipeline_status"])
    except (GatewayError, ServiceModelError, ServiceModelUnavailable, TimeoutError):
        pass
    return ()
