"""The CU's pacer with and without the forecast stream."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from loop import ANY_PORT, PATIENCE_S, loop_in, pipeline_status
from sojourn_demo.programs import Program, free_address

PACED = re.compile(r"^sojourn_cu_paced_by_forecast\{[^}]*\} (\d)", re.MULTILINE)
AT_LEISURE = ("--model", "none", "--period-ms", "10")
"""What the forecasts say does not matter here, nor how many come: they are to be there in time on
any machine, and points last for 30 ms."""
TAKEN = re.compile(r'cu_forecasts_total\{result="taken"\} ([1-9]\d*)')


def forecasts_taken(gnb: Program) -> int:
    found = TAKEN.search(gnb.metrics())
    return 0 if found is None else int(found[1])


async def paced_by_forecast(gnb: Program, wanted: bool) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = PACED.search(await asyncio.to_thread(gnb.metrics))
            assert found is not None
            if (found[1] == "1") is wanted:
                return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("template", ["drql_forecast", "base_stock"])
async def test_a_forecaster_that_dies_leaves_the_cu_to_its_own_measure_until_it_is_back(
    tmp_path: Path,
    template: str,
) -> None:
    async with loop_in(tmp_path) as loop:
        address = free_address()
        gnb = await loop.gnb(
            *("--forecasts", address, "--metrics-listen", ANY_PORT),
            *("--set", f"ues[0].drbs[0].pipeline={template}"),
        )
        gateway = gnb.ready["listen"]
        await paced_by_forecast(gnb, False)
        forecaster = await loop.forecaster(gateway, address, *AT_LEISURE)
        await paced_by_forecast(gnb, True)
        assert forecasts_taken(gnb)

        forecaster.kill()
        await paced_by_forecast(gnb, False)
        fallen = await pipeline_status(gateway, lambda s: s["pacer"]["by_forecast"] is False)
        # The bearer continues: a quarter of a second at some 40 Mbit/s.
        await pipeline_status(
            gateway, lambda s: s["ingress_bytes"] > fallen["ingress_bytes"] + 1_000_000
        )
        assert "pacers use their own measurements" in (tmp_path / "gnb-lab.log").read_text()

        before = forecasts_taken(gnb)
        await loop.forecaster(gateway, address, *AT_LEISURE)
        await paced_by_forecast(gnb, True)
        assert forecasts_taken(gnb) > before
        assert gnb.alive
