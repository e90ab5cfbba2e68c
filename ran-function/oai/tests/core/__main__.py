"""Runs the core network: ``python -m core --subscriber IMSI:KEY:OPC …``."""

from __future__ import annotations

import argparse
import asyncio
import sys
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

from core.amf import Amf, Subscriber, listen
from core.nas import Flow
from core.user_plane import UserPlane


def subscriber(text: str) -> tuple[str, Subscriber]:
    """IMSI and keys of an argument; `ValueError` if it has none."""
    imsi, key, opc = text.split(":")
    return imsi, Subscriber(bytes.fromhex(key), bytes.fromhex(opc))


def flow(text: str) -> Flow:
    """A QoS flow of an argument ``QFI:5QI[:DSCP]``; `ValueError` if it is none."""
    return Flow(*map(int, text.split(":")))


async def run(given: argparse.Namespace) -> None:
    """Serves until it is ended."""
    tunnels = UserPlane(given.address, given.device, given.ues)
    flows = given.flow or [Flow(1, 9)]
    network = (given.network[:3], given.network[3:])
    with given.log.open("w") if given.log else sys.stdout as log:
        amf = Amf(
            dict(given.subscriber),
            network=network,
            addresses=given.ues,
            flows=flows,
            tunnels=tunnels,
            log=log,
        )
        server = await listen(amf, given.address, given.port)
        await server.serve_forever()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", type=IPv4Address, default=IPv4Address("127.0.0.2"))
    parser.add_argument("--port", type=int, default=38412, help="of NGAP")
    parser.add_argument("--network", default="20899", help="MCC and MNC")
    parser.add_argument("--device", default="core0", help="TUN device of the data network")
    parser.add_argument("--ues", type=IPv4Interface, default=IPv4Interface("10.45.0.1/24"))
    parser.add_argument("--subscriber", type=subscriber, action="append", required=True)
    parser.add_argument("--flow", type=flow, action="append", help="QFI:5QI[:DSCP], of sessions")
    parser.add_argument("--log", type=Path, help="file of events; standard output without")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
