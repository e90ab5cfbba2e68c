"""The E2 gateways of the demo: that of the gNB, or the bridge of a FlexRIC near-RT RIC."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from sojourn_demo.flexric import (
    E2_PORT,
    E42_PORT,
    SETUP_DONE,
    FlexRic,
    configuration,
    is_open,
    loopback_address,
    tc_v1_model,
)
from sojourn_demo.programs import Program, Programs

Through = Literal["lab", "flexric", "oai"]
ANY_PORT: Final = "127.0.0.1:0"

THROUGH: Final[tuple[Through, ...]] = ("flexric", "lab", "oai")
V0_POLICY: Final = Path("xapps/tc_controller/policies/flexric.yaml")
"""E2SM-TC v0 does not support the templates of the default policy."""


def policy_of(through: Through) -> Path | None:
    """The policy of a gateway; `None` for the controller's default.

    FlexRIC's nodes have v0 alone unless the service model of E2SM-TC v1 is installed.
    """
    return V0_POLICY if through == "flexric" and tc_v1_model() is None else None


async def start_gateway(
    through: Through, programs: Programs, scenario: Path, recorded: Path, scratch: Path
) -> tuple[Program, str]:
    """Starts the emulated gNB, which records to `recorded`, and the E2 gateway.

    Args:
        scratch: A folder with a short name, because FlexRIC limits paths to 127 bytes.

    Returns:
        The gNB and the address of the E2 gateway.

    Raises:
        DemoError: Something is missing or does not start.
    """
    served = (
        *(str(scenario), "--out", str(recorded)),
        *("--listen", ANY_PORT, "--metrics-listen", ANY_PORT),
        *("--metrics-detail", "distributions,flows"),
    )
    if through == "flexric":
        return await _start_flexric(programs, scratch, served)
    gnb = await programs.start("gnb-lab", "serve", *served)
    return gnb, gnb.ready["listen"]


async def _start_flexric(
    programs: Programs, scratch: Path, served: tuple[str, ...]
) -> tuple[Program, str]:
    flexric = FlexRic.found(os.environ)
    ric = await start_ric(flexric, programs, scratch)
    node = await programs.start(
        *("flexric-node", *served, "--ric", ric.address, "--libraries", ric.models),
        environment=flexric.environment(),
    )
    # An xApp gets the list of nodes only when it connects, so the node is started first.
    await programs.wait_until(node, lambda: is_set_up(node))
    return node, await start_bridge(flexric, programs, ric)


@dataclass(frozen=True, slots=True)
class Ric:
    """A near-RT RIC that runs."""

    address: str
    models: str
    """Folder of service models, with a final slash."""
    settings: Path


async def start_ric(
    flexric: FlexRic, programs: Programs, scratch: Path, *, tc_v1: bool = True
) -> Ric:
    """Starts the near-RT RIC and waits until it listens; E2SM-TC v1 is offered unless `tc_v1` is
    false."""
    address = loopback_address(os.getpid())
    ric = Ric(
        address,
        flexric.link_service_models(scratch / "service_models", tc_v1=tc_v1),
        configuration(scratch, address),
    )
    await programs.start_foreign(
        flexric.ric,
        *("-c", str(ric.settings), "-p", ric.models),
        environment=flexric.environment(),
        # The RIC writes log files to its working directory.
        folder=scratch,
        is_ready=lambda: is_open(address, E2_PORT) and is_open(address, E42_PORT),
    )
    return ric


def is_set_up(node: Program) -> bool:
    """Whether the agent of `node` is connected to its near-RT RIC."""
    return SETUP_DONE in node.log.read_text(errors="replace")


async def start_bridge(flexric: FlexRic, programs: Programs, ric: Ric, *options: str) -> str:
    """Starts the bridge, with further options; returns the address of the E2 gateway."""
    shim = ("--ric-preload", str(flexric.shim)) if flexric.shim else ()
    # Possible because RIC and node preload libflexric_level_triggered.so.
    together = ("--ric-controls-together", "16")
    bridge = await programs.start(
        *("flexric-bridge", "serve", "--listen", ANY_PORT, "--metrics-listen", ANY_PORT),
        *("--ric", ric.address, "--libraries", ric.models),
        *("--ric-configuration", str(ric.settings), *shim, *together, *options),
    )
    listen: str = bridge.ready["listen"]
    return listen
