"""Cell, near-RT RIC and bridge of one run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn_demo.flexric import FlexRic
from sojourn_demo.gateways import Ric, is_set_up, start_bridge, start_ric
from sojourn_demo.oai.build import Oai
from sojourn_demo.oai.cell import Cell
from sojourn_demo.programs import Programs

INITIAL_PIPELINE: Final = "transparent"
"""The gNB starts as one without control."""


@dataclass(slots=True)
class Loop:
    """What runs without xApps."""

    flexric: FlexRic
    ric: Ric
    cell: Cell
    gateway: str
    """Address of the E2 gateway."""

    @classmethod
    async def start(
        cls,
        programs: Programs,
        scratch: Path,
        folder: Path,
        *,
        settings: Mapping[str, str] | None = None,
        tc_v1: bool = True,
        max_mcs: int | None = None,
    ) -> Loop:
        """Starts near-RT RIC, gNB, UE and bridge of this environment, in this order.

        Args:
            scratch: A folder with a short name, because FlexRIC limits paths to 127 bytes.
            folder: The folder of gNB and UE.
            settings, max_mcs: As in `Cell.start`.
            tc_v1: Whether E2SM-TC v1 is offered; v0 alone otherwise.

        Raises:
            DemoError: Something is missing or does not start.
        """
        oai, flexric = Oai.found(os.environ), FlexRic.found(os.environ, node=False)
        ric = await start_ric(flexric, programs, scratch, tc_v1=tc_v1)
        cell = await Cell.start(
            *(oai, programs, folder),
            settings=settings or {"SOJOURN_PIPELINE": INITIAL_PIPELINE},
            preloaded=flexric.preloaded(),
            e2=(ric.address, ric.models),
            max_mcs=max_mcs,
        )
        await programs.wait_until(cell.gnb, lambda: is_set_up(cell.gnb))
        await cell.attach()
        return cls(flexric, ric, cell, await start_bridge(flexric, programs, ric))
