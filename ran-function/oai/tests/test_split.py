"""CU and DU of an OpenAirInterface gNB in processes of their own, with 10 ms on F1-U: the CU's
pacer acts on the RLC of the DU by forecasts.

`make test-oai` runs these where pycrate is installed, which the core network needs.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from sojourn_demo.programs import Programs
from split_loop import SplitLoop
from test_sa import SMALL_CELL_PRBS, Load, accounted, dropped, finished, pytestmark

__all__ = ["pytestmark"]
DELAY_MS = 10.0
OFFERED_MBPS = 30.0
SETTLE_S, LOAD_S = 4.0, 8.0
HELD_BYTES = 1_000_000
"""Less than half a second of the cell; without forecasts it is ten times as much."""


@pytest.mark.parametrize("fed", [False, True], ids=["alone", "fed"])
async def test_a_cu_holds_back_what_the_rlc_of_its_du_cannot_send(
    tmp_path: Path, fed: bool
) -> None:
    with TemporaryDirectory(prefix="sojourn-") as scratch:
        async with Programs(tmp_path) as programs:
            split = await SplitLoop.start(
                *(programs, tmp_path, Path(scratch)),
                delay_ms=DELAY_MS,
                pipeline="low_latency",
                prbs=SMALL_CELL_PRBS,
                real_time=True,
            )
            ue = await split.sa.attach(0)
            if fed:
                await split.feed()
            load = await Load.start(split.sa, ue, OFFERED_MBPS)
            await asyncio.sleep(SETTLE_S)
            held = np.median((await split.in_rlc(LOAD_S)).bytes)
            ((sent, arrived),) = await finished(load)
            (bearer,) = split.sa.bearers()
            print(
                f"{'fed' if fed else 'alone'}: DU's RLC p50 {held:.0f} bytes, {dropped(bearer)} of"
                f" {sent} packets dropped by the CU, {len(arrived.number)} arrived"
            )
            accounted(bearer, arrived, sent)
            if fed:
                assert dropped(bearer) > 0, "the cell carries less than was offered"
                assert held < HELD_BYTES
            else:
                # What a CU has that nobody feeds: all of it goes down.
                assert dropped(bearer) == 0
                assert held > HELD_BYTES
