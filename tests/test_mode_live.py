"""`tc-controller mode` at a running controller with TLS: who may, how soon, and what stays."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from loop import ANY_PORT, PATIENCE_S, controlled, loop_in, pipeline_status
from pki import Authority
from sojourn_demo.programs import Program

WITHIN_S = 5.0
COMMAND = Path(sys.executable).parent / "tc-controller"
ACCESS = {
    "clients": [
        {"name": "switch", "certificates": ["switch"], "may": ["control"]},
        {"name": "noc", "certificates": ["noc"], "may": ["read"]},
    ]
}


def initial(status: dict[str, Any]) -> bool:
    """Whether the gNB's own pipeline is in force."""
    return bool(status["safe"] and status["name"] == "transparent")


class Switch:
    """A controller's settings with TLS, and the command with the certificate of a client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = Authority(folder)
        certificate, key = self.ca.issue("tc-controller", dns=("localhost",))
        self.mode = folder / "mode"
        self.mode.write_text("act\n")
        (folder / "access.yaml").write_text(yaml.safe_dump(ACCESS))
        self.flags = (
            *("--http-certificate-file", str(certificate), "--http-key-file", str(key)),
            *("--http-client-ca-file", str(self.ca.file)),
            *("--access", str(folder / "access.yaml"), "--audit", str(folder / "audit.jsonl")),
            *("--mode-file", str(self.mode), "--mode-state", str(folder / "mode.json")),
            *("--policy", str(folder / "policy.yaml")),
            *("--decision-log", str(folder / "decisions.jsonl")),
        )

    async def announce(self, controller: Program, mode: str) -> None:
        """What the chart's hook runs, with the certificate of `switch`."""
        certificate, key = self.ca.issue("switch")
        port = controller.ready["metrics"].rpartition(":")[2]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tc_controller.mode_client", mode, "--at", f"localhost:{port}"),
            *("--ca-file", str(self.ca.file), "--certificate-file", str(certificate)),
            *("--key-file", str(key), "--server-name", "localhost"),
        )
        assert await process.wait() == 0

    async def ask(self, controller: Program, client: str, *arguments: str) -> tuple[int, str]:
        """Exit status and output of `tc-controller mode`."""
        certificate, key = self.ca.issue(client)
        port = controller.ready["metrics"].rpartition(":")[2]
        process = await asyncio.create_subprocess_exec(
            *(str(COMMAND), "mode", *arguments, "--peers", f"127.0.0.1:{port}", "--peers-tls"),
            *("--peers-tls-ca-file", str(self.ca.file)),
            *("--peers-tls-certificate-file", str(certificate), "--peers-tls-key-file", str(key)),
            *("--peers-tls-server-name", "localhost"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()


async def test_one_command_switches_off_and_on_again(tmp_path: Path) -> None:
    async with loop_in(tmp_path, place="base") as loop:
        switch = Switch(tmp_path)
        gateway = (await loop.gnb()).ready["listen"]
        start = (
            *("tc-controller", "--gateway", gateway, "--metrics-listen", ANY_PORT),
            *switch.flags,
        )
        controller = await loop._start(*start)
        await pipeline_status(gateway, controlled)

        status, output = await switch.ask(controller, "noc", "off")
        assert (status, "403" in output) == (1, True), output

        status, output = await switch.ask(controller, "switch", "off")
        assert status == 0
        assert "off (by switch): every bearer returns" in output
        await pipeline_status(gateway, initial)

        # A restart and a configuration that says the same as before change nothing.
        controller.stop(PATIENCE_S)
        controller = await loop._start(*start)
        assert (await switch.ask(controller, "switch", "act", "--configured"))[0] == 0
        assert "off (by switch)" in (await switch.ask(controller, "noc"))[1]

        # The file is heard when it changes.
        switch.mode.write_text("observe\n")
        async with asyncio.timeout(PATIENCE_S):
            while "observe (by configuration)" not in (await switch.ask(controller, "noc"))[1]:
                await asyncio.sleep(0.2)

        # An upgrade of the chart announces the file.
        for mode, in_force in (("act", controlled), ("off", initial)):
            began = time.monotonic()
            await switch.announce(controller, mode)
            await pipeline_status(gateway, in_force)
            assert time.monotonic() - began < WITHIN_S

        lines = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
        audited = [line for line in lines if line["action"] == "mode"]
        assert [(line["who"], line["what"], line["outcome"]) for line in audited] == [
            ("switch", "mode off", "accepted"),
            ("switch", "configured act", "accepted"),
            ("switch", "configured act", "accepted"),
            ("switch", "configured off", "accepted"),
        ]
        log = map(json.loads, (tmp_path / "decisions.jsonl").read_text().splitlines())
        modes = [each["mode"] for each in log if each["event"] == "mode"]
        assert modes == ["off", "observe", "act", "off"]


async def test_a_controller_that_is_not_there_is_named(tmp_path: Path) -> None:
    for arguments, expected in (((), 1), (("off", "--configured"), 0)):
        process = await asyncio.create_subprocess_exec(
            *(str(COMMAND), "mode", *arguments, "--peers", "127.0.0.1:1"),
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await process.communicate()
        assert process.returncode == expected
        assert "127.0.0.1:1: " in errors.decode()
