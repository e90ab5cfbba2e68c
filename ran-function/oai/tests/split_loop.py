"""A split OAI gNB in SA with a near-RT RIC: E2SM-TC v1 in its CU, RLC and MAC in its DU."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ric import E2GatewayClient, NodeType
from ric.settings import GatewaySettings
from ric.sm import rlc
from sojourn_demo.flexric import FlexRic
from sojourn_demo.gateways import ANY_PORT, is_set_up, start_bridge, start_ric
from sojourn_demo.programs import Program, Programs
from split import Split
from standalone import Standalone

TC_MODEL: Final = "libsojourn_tc_sm.so"
REPORT_MS, FEED_MS = 10, 20


@dataclass(slots=True)
class InRlc:
    """Bytes in the RLC of the DU's bearers, by when the RIC got to know: the Unix time in µs."""

    at_us: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)


@dataclass(slots=True)
class SplitLoop:
    """CU and DU with one near-RT RIC, and the bridge."""

    sa: Standalone
    gateway: str
    programs: Programs

    @classmethod
    async def start(
        cls,
        programs: Programs,
        folder: Path,
        scratch: Path,
        *,
        delay_ms: float,
        pipeline: str,
        prbs: int,
        real_time: bool = False,
    ) -> SplitLoop:
        """Starts all but UEs and xApps, and waits for both set-ups of E2.

        Args:
            scratch: A folder with a short name, because FlexRIC limits paths to 127 bytes.
            delay_ms: One-way delay of F1-U.
            pipeline: Template of the CU's bearers.
            prbs, real_time: As in `Standalone.start`.

        Raises:
            DemoError: Something does not start.
        """
        flexric = FlexRic.found(os.environ, node=False)
        ric = await start_ric(flexric, programs, scratch)
        # OAI's functions for MAC and RLC read a MAC, which a CU does not have.
        cu_models = scratch / "cu"
        cu_models.mkdir()
        shutil.copy(Path(ric.models) / TC_MODEL, cu_models)
        sa = await Standalone.start(
            *(programs, folder),
            settings={"SOJOURN_PIPELINE": pipeline},
            prbs=prbs,
            e2=(ric.address, ric.models),
            preloaded=flexric.preloaded(),
            real_time=real_time,
            split=Split(delay_ms, f"{cu_models}/"),
        )
        for part in filter(None, (sa.gnb, sa.du)):
            await programs.wait_until(part, lambda part=part: is_set_up(part))  # type: ignore[misc]
        # As many as feeds, and as many again for those that wait for a core.
        rate = ("--controls-per-s", str(2000 / FEED_MS))
        return cls(sa, await start_bridge(flexric, programs, ric, *rate), programs)

    async def feed(self) -> Program:
        """Starts the forecaster, which feeds the CU what the DU's RLC holds and will drain."""
        return await self.programs.start(
            *("rlc-forecaster", "--gateway", self.gateway, "--metrics-listen", ANY_PORT),
            *("--listen", ANY_PORT, "--model", "none", "--period-ms", str(REPORT_MS)),
            *("--cu-feed-period-ms", str(FEED_MS)),
        )

    async def in_rlc(self, seconds: float) -> InRlc:
        """What the RLC of the DU's bearers holds, each report."""
        held = InRlc()
        async with E2GatewayClient(GatewaySettings(address=self.gateway)) as client:
            async for event in client.watch_nodes():
                if event.node.type is NodeType.GNB_DU:
                    break
            stream = client.subscribe(event.node.id, rlc.OID, rlc.event_trigger(REPORT_MS))
            until_s = time.monotonic() + seconds
            async with aclosing(stream) as indications, asyncio.timeout(2 * seconds + 30):
                async for indication in indications:
                    for record in rlc.decode(indication.message).records:
                        held.at_us.append(time.time_ns() // 1000)
                        held.bytes.append(int(record["txbuf_occ_bytes"]))
                    if time.monotonic() > until_s:
                        break
        return held
