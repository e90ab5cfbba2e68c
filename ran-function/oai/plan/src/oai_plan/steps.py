"""The steps from trees of OpenAirInterface and FlexRIC to a bearer under control, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from oai_plan.evidence import (
    Evidence,
    Seen,
    agent_is_built,
    bearers_are_controlled,
    bridge_fits,
    gateway_answers,
    gnb_is_set_up,
    library_is_built,
    models_fit,
    oai_fits,
    program_runs,
    ric_is_built,
)
from oai_plan.fit import FLEXRIC
from oai_plan.trees import Trees

RIC: Final = "examples/ric/nearRT-RIC"
GNB: Final = "nr-softmodem"
PRELOADED: Final = "libflexric_level_triggered.so"
"""Library without which RIC and agent leave messages unread when two arrive at once."""


@dataclass(frozen=True, slots=True)
class Step:
    """What to do, how long it takes, and how to see that it is done."""

    name: str
    what: str
    commands: tuple[str, ...]
    takes: str
    """Time on two cores; empty where it was not measured."""
    evidence: Callable[[Seen], Evidence]


def steps(trees: Trees, ric: str, gateway: str) -> list[Step]:
    """All steps, for a near-RT RIC at the host `ric` and a gateway at the address `gateway`."""
    versions = " ".join(f"-D{name}={value}" for name, value in trees.versions().items())
    folders = f"FLEXRIC_SRC={trees.flexric} FLEXRIC_BUILD={trees.flexric_build}"
    make = f"make -C {trees.sojourn}"
    preload = f"LD_PRELOAD={trees.prefix / 'lib' / PRELOADED}"
    model = trees.prefix / "lib/flexric/libsojourn_tc_sm.so"
    models = f"{trees.models}/"
    programs = trees.prefix / "bin"
    return [
        Step(
            "library",
            "build this project: library of traffic control, bridge, xApps",
            (f"{make} setup",),
            "10 min",
            lambda seen: library_is_built(trees),
        ),
        Step(
            "check",
            "see whether the adapter fits OAI, before it is built",
            (f"{make} oai-check OAI={trees.oai}",),
            "10 s",
            lambda seen: oai_fits(trees),
        ),
        Step(
            "flexric",
            "build the near-RT RIC and its service models"
            + ("" if trees.is_submodule else f"; of the same commit as OAI's {FLEXRIC}"),
            (
                f"cmake -S {trees.flexric} -B {trees.flexric_build} -G Ninja -DUNIT_TEST=FALSE"
                f" {versions}",
                f"cmake --build {trees.flexric_build}",
            ),
            "6 min",
            lambda seen: ric_is_built(trees, RIC),
        ),
        Step(
            "bridge",
            "build what is of that FlexRIC: the bridge's module, the service model of E2SM-TC v1;"
            " needs swig 4.1 or newer (`pip install swig` will do)",
            (f"{make} flexric-bridge flexric-sm {folders}",),
            "20 s",
            lambda seen: bridge_fits(trees),
        ),
        Step(
            "models",
            "give RIC, agent and bridge one folder of service models, with E2SM-TC v1 in it",
            (
                f"mkdir -p {models}",
                f"find {trees.flexric_build}/src/sm -name 'lib*_sm.so' -exec cp {{}} {models} \\;",
                f"cp {model} {models}",
            ),
            "",
            lambda seen: models_fit(trees),
        ),
        Step(
            "gnb",
            "build OAI's gNB with the library and the E2 agent, with the RIC's versions; needs"
            " what OAI itself needs (its script has it), and for the RF simulator nr-uesoftmodem",
            (
                f"cmake -S {trees.oai} -B {trees.oai_build} -G Ninja -DE2_AGENT=ON {versions}"
                f" -DSOJOURN_PREFIX={trees.prefix}"
                f" -DCMAKE_PROJECT_OpenAirInterface_INCLUDE={trees.adapter / 'sojourn.cmake'}",
                f"cmake --build {trees.oai_build} --target {GNB} params_libconfig rfsimulator",
            ),
            "15 min",
            lambda seen: agent_is_built(trees, GNB),
        ),
        Step(
            "ric",
            f"start the near-RT RIC first, on {ric}, with the library preloaded; its file has the"
            " address that it listens at",
            (
                f"{preload} {trees.flexric_build / RIC} -p {models}"
                f" -c {trees.flexric / 'flexric.conf'}",
            ),
            "",
            lambda seen: program_runs(seen, trees.flexric_build / RIC, PRELOADED),
        ),
        Step(
            "node",
            "start the gNB, with your cell's settings, the same library preloaded and a pipeline"
            " that is safe before the first control; its AMF runs before it (without one: --do-ra"
            " --noS1)",
            (
                f"SOJOURN_PIPELINE=low_latency {preload} {trees.oai_build / GNB} -O YOUR.conf"
                f" --e2_agent.near_ric_ip_addr {ric} --e2_agent.sm_dir {models}",
            ),
            "",
            lambda seen: program_runs(seen, trees.oai_build / GNB, PRELOADED),
        ),
        Step(
            "gateway",
            "start the bridge",
            (
                f"{programs}/flexric-bridge preflight --ric {ric} --libraries {models}",
                f"{programs}/flexric-bridge serve --ric {ric} --libraries {models}"
                f" --listen {gateway} --state bridge.json",
            ),
            "",
            gateway_answers,
        ),
        Step(
            "set-up",
            "see the gNB's E2 set-up through the gateway, with E2SM-TC v1",
            (f"{programs}/ric nodes --gateway {gateway}",),
            "5 s",
            gnb_is_set_up,
        ),
        Step(
            "control",
            "start the xApps; a bearer needs a connected UE",
            (
                f"{programs}/tc-controller --gateway {gateway}",
                f"{programs}/rlc-forecaster --gateway {gateway}",
                f"{programs}/ric doctor --gateway {gateway}",
            ),
            "5 s",
            bearers_are_controlled,
        ),
    ]
