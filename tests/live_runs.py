"""`gnb-lab live` in tests: what it needs, runs of it, a server and a client that compare bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
GNB_LAB = Path(sys.executable).parent / "gnb-lab"
RNTI = 17921

SCENARIO: dict[str, Any] = {
    "name": "between kernels",
    "duration_s": 600,
    "cell": {"rat": "nr", "n_prb": 106, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
    "split": {"core_delay_us": 5000},
    "ues": [
        {
            "rnti": RNTI,
            "channel": {"fixed_mcs": 20},
            "drbs": [{"id": 1, "pipeline": "fq_codel"}, {"id": 2}],
        }
    ],
}

# A server that answers "SIZE\n" with that many bytes, then counts what the client sends.
SERVER = """
import socket, sys
listener = socket.create_server(("::", 5201), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    peer, _ = listener.accept()
    with peer, peer.makefile("rwb") as stream:
        size = int(stream.readline())
        stream.write(bytes(index % 251 for index in range(1000)) * (size // 1000))
        stream.flush()
        stream.write(b"%d\\n" % len(stream.read(size)))
"""
CLIENT = """
import os, socket, sys
size, host = int(sys.argv[1]), os.environ[sys.argv[2]]
with socket.create_connection((host, 5201)) as peer, peer.makefile("rwb") as stream:
    stream.write(b"%d\\n" % size)
    stream.flush()
    block = bytes(index % 251 for index in range(1000))
    assert stream.read(size) == block * (size // 1000), "the bytes are not those sent"
    stream.write(block * (size // 1000))
    stream.flush()
    assert int(stream.readline()) == size
"""


def missing() -> str | None:
    """What this machine lacks for network namespaces with a TUN device.

    They carry traffic in real time, which takes cores from tests beside them.
    """
    if "SOJOURN_TEST_LIVE" not in os.environ:
        return "make test-live runs it, by itself"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return f"/dev/net/tun: {error.strerror}"
    if os.geteuid() == 0:
        return None
    tool = shutil.which("unshare")
    if tool is None:
        return "neither root nor unshare to try user namespaces with"
    if subprocess.run([tool, "-rn", "true"], capture_output=True, check=False).returncode != 0:
        return "neither root nor unprivileged user namespaces"
    return None


class Live:
    """Runs `gnb-lab live` on a scenario."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scenario = deepcopy(SCENARIO)
        (folder / "server.py").write_text(SERVER)
        (folder / "client.py").write_text(CLIENT)

    def arguments(self, *options: str, command: list[str]) -> list[str]:
        path = self.folder / "scenario.yaml"
        path.write_text(yaml.safe_dump(self.scenario))
        summary = str(self.folder / "summary.json")
        return [str(GNB_LAB), "live", str(path), "--summary", summary, *options, "--", *command]

    def run(self, *options: str, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.arguments(*options, command=command),
            capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def transfer(self, size: int, host: str, *options: str) -> dict[str, Any]:
        """Moves bytes both ways over TCP; the summary of the run."""
        server = f"{sys.executable} {self.folder / 'server.py'}"
        client = [sys.executable, str(self.folder / "client.py"), str(size), host]
        done = self.run("--server", server, *options, command=client)
        assert done.returncode == 0, done.stderr
        return self.summary()

    def summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = json.loads((self.folder / "summary.json").read_text())
        return summary
