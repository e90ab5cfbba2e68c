"""Three clients without a right send metadata without end, beside one that reads forecasts.

Run in a network namespace of its own (`unshare --net`); prints what became of each as JSON.
"""

from __future__ import annotations

import asyncio
import json
import resource
import ssl
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import grpc.aio
from http2_client import Http2Client, literal
from pki import Authority
from running_forecaster import NODE, Running, running, time_us
from sojourn_interfaces import forecast_pb2 as pb
from sojourn_interfaces import forecast_pb2_grpc as pb_grpc

HOST, HOSTILE = "10.77.0.1", ("10.77.0.2", "10.77.0.3", "10.77.0.4")
TIMES, FIELDS, VALUE_BYTES = 20, 20_000, 180
REPORTS = 200


async def attack(where: Path, port: int, source: str) -> list[Any]:
    """What each call came to."""
    context = ssl.create_default_context(cafile=where / "ca.pem")
    context.load_cert_chain(where / "nobody.pem", where / "nobody.key")
    context.set_alpn_protocols(["h2"])
    fields = b"".join(literal(f"h{number}", "v" * VALUE_BYTES) for number in range(FIELDS))
    outcomes: list[Any] = []
    for _ in range(TIMES):
        try:
            async with await Http2Client.connect(port, HOST, source, context) as client:
                client.call("/sojourn.forecast.v1.Forecaster/Subscribe", fields)
                outcomes.append((await client.ended())[0])
        except OSError as error:
            outcomes.append(type(error).__name__)
    return outcomes


async def attack_apart(where: Path, port: int, source: str) -> list[Any]:
    """The same from a process of its own, which has a machine to itself elsewhere."""
    command = ("nice", "-n", "19", sys.executable, __file__, str(where), str(port), source)
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await child.communicate()
    outcomes: list[Any] = json.loads(output)
    return outcomes


async def read(r: Running, channel: grpc.aio.Channel, health: str) -> dict[str, Any]:
    """Read the forecast of each report, and ask for the health now and then."""
    stub: Any = pb_grpc.ForecasterStub(channel)
    stream = stub.Subscribe(pb.ForecastRequest(node_id=NODE))
    while not r.forecaster.hub.consumers:
        await asyncio.sleep(0.005)
    numbers = count(1)
    read_, healthy = 0, 0
    async with aiohttp.ClientSession() as session:
        for number in range(REPORTS):
            reading = asyncio.ensure_future(stream.read())
            while not reading.done():
                # A report is lost where the SDK takes a stalled process for a silent node.
                k = next(numbers)
                r.report(k, {17: 100 * k})
                await asyncio.wait([reading], timeout=0.5)
            read_ += reading.result().forecasts[0].origin_us <= time_us(k)
            if number % 20 == 0:
                async with session.get(health) as answer:
                    healthy += answer.status == 200
    stream.cancel()
    return {"read": read_, "healthy": healthy}


async def main(where: Path) -> dict[str, Any]:
    ca = Authority(where)
    ca.issue("server", dns=("localhost",))
    ca.issue("victim")
    ca.issue("nobody")
    access = where / "access.yaml"
    access.write_text("clients: [{name: victim, certificates: [victim], may: [subscribe]}]\n")
    server = {
        "listen": f"{HOST}:0",
        "certificate_file": where / "server.pem",
        "key_file": where / "server.key",
        "client_ca_file": ca.file,
    }
    credentials = grpc.ssl_channel_credentials(
        ca.file.read_bytes(),
        (where / "victim.key").read_bytes(),
        (where / "victim.pem").read_bytes(),
    )
    async with running(server=server, http={"listen": "127.0.0.1:0"}, access={"file": access}) as r:
        await r.subscribed()
        port = r.forecaster.server.port
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        name = (("grpc.ssl_target_name_override", "localhost"),)
        async with grpc.aio.secure_channel(f"{HOST}:{port}", credentials, name) as channel:
            reading = asyncio.create_task(
                read(r, channel, f"http://{r.http_address}/healthz"), name="victim"
            )
            attacks = (attack_apart(where, port, source) for source in HOSTILE)
            outcomes = await asyncio.gather(*attacks)
            found = await reading
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    return {**found, "outcomes": outcomes, "grown_mib": grown_kib / 1024}


if __name__ == "__main__":
    if len(sys.argv) > 2:
        directory, to_port, address = sys.argv[1:]
        print(json.dumps(asyncio.run(attack(Path(directory), int(to_port), address))))
        sys.exit()
    for address in (HOST, *HOSTILE):
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    sys.stderr.write(json.dumps(asyncio.run(main(Path(sys.argv[1])))) + "\n")
