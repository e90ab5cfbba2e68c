"""The E2 gateways the loop can go through: the gNB's own, or a FlexRIC near-RT RIC's."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
)
from sojourn_demo.programs import Program, Programs

Through = Literal["lab", "flexric"]
ANY_PORT: Final = "127.0.0.1:0"

POLICIES: Final[Mapping[str, Path | None]] = {
    "lab": None,
    # FlexRIC's nodes speak E2SM-TC v0, which the default policy's templates need more than.
    "flexric": Path("xapps/tc_controller/policies/flexric.yaml"),
}
"""What is between gNB and xApps, and the policy that goes with it; the controller's own if none."""


async def start_gateway(
    through: Through, programs: Programs, scenario: Path, recorded: Path, scratch: Path
) -> tuple[Program, str]:
    """Starts the emulated gNB, which records to `recorded`, and what is between it and the xApps.

    Args:
        scratch: A folder of a short name for FlexRIC, which holds 127 bytes of a path.

    Returns:
        The gNB and the address of the E2 gateway.

    Raises:
        DemoError: Something is missing or does not start.
    """
    served = (
        *(str(scenario), "--out", str(recorded)),
        *("--listen", ANY_PORT, "--metrics-listen", ANY_PORT),
    )
    if through == "flexric":
        return await _start_flexric(programs, scratch, served)
    gnb = await programs.start("gnb-lab", "serve", *served)
    return gnb, gnb.ready["listen"]


async def _start_flexric(
    programs: Programs, scratch: Path, served: tuple[str, ...]
) -> tuple[Program, str]:
    flexric = FlexRic.found(os.environ)
    models = flexric.link_service_models(scratch / "service_models")
    address = loopback_address(os.getpid())
    settings = configuration(scratch, address)
    await programs.start_foreign(
        flexric.ric,
        *("-c", str(settings), "-p", models),
        environment=flexric.environment(),
        # It logs every report into a file of its own.
        folder=scratch,
        is_ready=lambda: is_open(address, E2_PORT) and is_open(address, E42_PORT),
    )
    node = await programs.start(
        *("flexric-node", *served, "--ric", address, "--libraries", models),
        environment=flexric.environment(),
    )
    # FlexRIC tells an xApp the nodes there are when it connects, so the node comes first.
    await programs.wait_until(node, lambda: SETUP_DONE in node.log.read_text(errors="replace"))
    shim = ("--ric-preload", str(flexric.shim)) if flexric.shim else ()
    # RIC and node have libflexric_level_triggered.so.
    together = ("--ric-controls-together", "16")
    bridge = await programs.start(
        *("flexric-bridge", "serve", "--listen", ANY_PORT, "--metrics-listen", ANY_PORT),
        *("--ric", address, "--libraries", models, "--ric-configuration", str(settings)),
        *(*shim, *together),
    )
    return node, bridge.ready["listen"]
