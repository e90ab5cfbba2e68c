"""The E2 gateway's name moves to another address; run in a mount namespace of its own.

The argument is a folder for the table of hosts.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from e2_gateway_server import SERVICE, GatewayService
from ric.gateway.client import E2GatewayClient
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.security import Security
from ric.settings import GatewaySettings
from ric.testing import FakeRic
from ric.testing.fake_server import FakeRicBackend

NAME = "gateway.sojourn.test"
OLD, NEW = "127.0.0.2", "127.0.0.3"
PATIENCE_S = 15.0
"""Half of the time after which gRPC by default asks for the name again."""


async def main(hosts: Path) -> None:
    def move(address: str) -> None:
        hosts.write_text(f"127.0.0.1 localhost\n{address} {NAME}\n")

    def server(node: str, address: str, port: int) -> GrpcServer:
        ric = FakeRic()
        ric.add_node(node)
        return GrpcServer(
            SERVICE,
            GatewayService(FakeRicBackend(ric)).handlers(),
            GrpcServerSettings(listen=f"{address}:{port}"),
            security=Security(),
        )

    move(OLD)
    old = server("old", OLD, 0)
    await old.start()
    new = server("new", NEW, old.port)
    await new.start()
    settings: Any = {"address": f"{NAME}:{old.port}", "insecure": True}
    async with E2GatewayClient(GatewaySettings.model_validate(settings)) as client:
        await client.wait_for_node("old")
        move(NEW)
        await old.stop(0)
        async with asyncio.timeout(PATIENCE_S):
            await client.wait_for_node("new")
    await new.stop(0)


if __name__ == "__main__":
    table = Path(sys.argv[1]) / "hosts"
    table.touch()
    subprocess.run(["mount", "--bind", str(table), "/etc/hosts"], check=True)
    asyncio.run(main(table))
