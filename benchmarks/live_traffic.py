"""Kernel TCP and UDP for `gnb-lab live`, whose bytes tell whether they are those that were sent.

    python live_traffic.py serve                  at the server side
    python live_traffic.py use SECONDS RESULT     at a UE; RESULT is a JSON file

TCP: a download and an upload of a known pattern, each opened again when it breaks. UDP: requests of
varied length each 5 ms, answered with a payload whose CRC-32 is at its beginning. Standard library
alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

PORT: Final = 5201
BLOCK: Final = bytes(index % 251 for index in range(251 * 64))
"""The pattern of TCP. Its period is a prime: no two packets have the same bytes by design."""
RATE_BYTES_S: Final = 250_000
"""Rate of each TCP transfer, below what the cell carries: losses are those of the faults."""
CHUNK_BYTES: Final = 16_064
UDP_EVERY_S: Final = 0.005
UDP_BYTES: Final = (64, 1_300)
PATIENCE_S: Final = 30.0
"""A connection that moves nothing for this long is opened again."""
SEAL_BYTES: Final = 4


@dataclass(slots=True)
class Result:
    """What arrived at the UE."""

    tcp_down_bytes: int = 0
    tcp_up_bytes: int = 0
    tcp_wrong_blocks: int = 0
    tcp_connections: int = 0
    udp_sent: int = 0
    udp_answers: int = 0
    udp_wrong: int = 0


def expected(offset: int, length: int) -> bytes:
    """The pattern from an offset on."""
    start = offset % 251
    repeats = (start + length) // len(BLOCK) + 1
    return (BLOCK * repeats)[start : start + length]


def sealed(length: int, number: int) -> bytes:
    """A datagram of a length with its checksum at the beginning."""
    content = expected(number, length - SEAL_BYTES)
    return zlib.crc32(content).to_bytes(SEAL_BYTES, "big") + content


def is_sealed(datagram: bytes) -> bool:
    """Whether a datagram is as it was sent."""
    return zlib.crc32(datagram[SEAL_BYTES:]).to_bytes(SEAL_BYTES, "big") == datagram[:SEAL_BYTES]


def send_paced(peer: socket.socket, until_s: float) -> int:
    """Sends the pattern at the rate of a transfer; the bytes sent."""
    began_s, sent = time.monotonic(), 0
    while (now_s := time.monotonic()) < until_s:
        due = int((now_s - began_s) * RATE_BYTES_S)
        if sent < due:
            peer.sendall(expected(sent, CHUNK_BYTES))
            sent += CHUNK_BYTES
        else:
            time.sleep(0.01)
    return sent


def receive(peer: socket.socket, until_s: float, result: Result) -> None:
    """Compares what comes with the pattern."""
    offset = 0
    while time.monotonic() < until_s:
        data = peer.recv(1 << 16)
        if not data:
            return
        result.tcp_wrong_blocks += data != expected(offset, len(data))
        offset += len(data)
        result.tcp_down_bytes += len(data)


def serve_one(peer: socket.socket) -> None:
    """A connection of the server: the first byte says which way it goes."""
    peer.settimeout(PATIENCE_S)
    with peer, contextlib.suppress(OSError):
        if peer.recv(1) == b"D":
            send_paced(peer, float("inf"))
        while peer.recv(1 << 16):
            pass


def serve() -> None:
    """Serves until it is ended."""
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("", PORT))
    threading.Thread(target=answer_datagrams, args=(datagrams,), daemon=True).start()
    with socket.create_server(("", PORT)) as listener:
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=serve_one, args=(peer,), daemon=True).start()


def answer_datagrams(datagrams: socket.socket) -> None:
    """Answers each intact request with a sealed datagram of the same length."""
    number = 0
    while True:
        request, peer = datagrams.recvfrom(2_048)
        if is_sealed(request):
            number += 1
            datagrams.sendto(sealed(len(request), number), peer)


def transfer(way: bytes, host: str, until_s: float, result: Result) -> None:
    """One way of TCP until the end."""
    while time.monotonic() < until_s:
        with contextlib.suppress(OSError):
            peer = socket.create_connection((host, PORT), timeout=PATIENCE_S)
            result.tcp_connections += 1
            with peer:
                peer.sendall(way)
                if way == b"D":
                    receive(peer, until_s, result)
                else:
                    result.tcp_up_bytes += send_paced(peer, until_s)
        time.sleep(0.1)


def exchange(host: str, until_s: float, result: Result) -> None:
    """Requests and answers of UDP until the end."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.connect((host, PORT))
        datagrams.settimeout(UDP_EVERY_S)
        next_s = time.monotonic()
        while (now_s := time.monotonic()) < until_s:
            if now_s >= next_s:
                least, most = UDP_BYTES
                length = least + result.udp_sent * 37 % (most - least)
                with contextlib.suppress(OSError):
                    datagrams.send(sealed(length, result.udp_sent))
                result.udp_sent += 1
                next_s += UDP_EVERY_S
            with contextlib.suppress(OSError):
                answer = datagrams.recv(2_048)
                result.udp_answers += 1
                result.udp_wrong += not is_sealed(answer)


def use(seconds: float, path: Path) -> None:
    """All traffic of a UE for a time; the result goes to a file."""
    host, result = os.environ["SOJOURN_SERVER"], Result()
    until_s = time.monotonic() + seconds
    threads = [
        threading.Thread(target=transfer, args=(way, host, until_s, result), daemon=True)
        for way in (b"D", b"U")
    ]
    for thread in threads:
        thread.start()
    exchange(host, until_s, result)
    for thread in threads:
        # It may wait for a peer that is in an outage.
        thread.join(timeout=1.0)
    path.write_text(json.dumps(asdict(result)) + "\n")


def main() -> None:
    """Server or UE."""
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["use", seconds, path]:
            use(float(seconds), Path(path))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
