"""CU and DU of an OAI gNB in processes of their own: their settings, made of those of a gNB in one
piece, and the delay of F1-U between them."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn_demo.load.commands import ENDS_WITH_PARENT
from sojourn_demo.programs import Program, Programs

CU_F1, DU_F1 = "127.0.0.4", "127.0.0.5"
F1U_PORT, RELAY_PORT = 2153, 2163
RELAY: Final = Path(__file__).parent / "f1u_relay.py"


@dataclass(frozen=True, slots=True)
class Split:
    """A CU and a DU, with F1-U between them."""

    delay_ms: float
    """One-way delay of F1-U, both ways."""
    cu_models: str | None = None
    """Folder of service models of the CU with E2, with a final slash: none that asks a MAC."""


async def start_relay(programs: Programs, delay_ms: float, *, real_time: bool) -> Program:
    """Starts what delays F1-U, and waits until it listens.

    Args:
        real_time: Whether it has real-time priority, which it needs beside programs that have.

    Raises:
        DemoError: It does not start.
    """
    relay = programs.spawn(
        (
            *(*ENDS_WITH_PARENT, sys.executable, str(RELAY), "--delay-ms", str(delay_ms)),
            *(("--real-time",) if real_time else ()),
            *(f"{at}:{RELAY_PORT}={at}:{F1U_PORT}" for at in (CU_F1, DU_F1)),
        ),
        name="f1u",
        has_ready_line=False,
    )
    await programs.wait_until(relay, lambda: "ready" in relay.log.read_text())
    return relay


def cu_settings(text: str) -> str:
    """The settings of a gNB as those of its CU, which may have none of a cell."""
    ends = f'local_s_address = "{CU_F1}"; remote_s_address = "{DU_F1}";'
    ports = f"local_s_portd = {F1U_PORT}; remote_s_portd = {RELAY_PORT};"
    of_cells = ("servingCellConfigCommon", "min_rxtxtime")
    text = _without(text, *of_cells, "MACRLCs", "L1s", "RUs", "rfsimulator")
    f1 = rf'\1    tr_s_preference = "f1"; {ends} {ports}\n'
    return re.sub(r"(gNB_name .*\n)", f1, text, count=1)


def du_settings(text: str) -> str:
    """The settings of a gNB as those of its DU, which may have none of the core network. Its E2
    agent takes the identity of the DU for the gNB's."""
    ends = f'local_n_address = "{DU_F1}"; remote_n_address = "{CU_F1}";'
    ports = f"local_n_portd = {F1U_PORT}; remote_n_portd = {RELAY_PORT};"
    text = _without(text, "amf_ip_address", "security")
    f1 = f'tr_n_preference = "f1"; {ends} {ports}'
    text = re.sub(r'tr_n_preference\s*= "local_RRC";', f1, text)
    return re.sub(r"(gNB_ID\s*=\s*)(\w+);", r"\1\2; gNB_DU_ID = \2;", text, count=1)


def _without(text: str, *names: str) -> str:
    """Settings without some lists, groups and values."""
    for name in names:
        part = rf"^[ ]*{name}\s*[=:](?:[^\n]*;|\s*\(.*?^[ ]*\);|\s*\{{.*?^[ ]*\}};)\n"
        text = re.sub(part, "", text, flags=re.MULTILINE | re.DOTALL)
    return text
