#!/usr/bin/env python3
"""Fake of `rlc-forecaster lockstep`; the last part of the model's path selects its behaviour."""

import json
import os
import struct
import sys
from pathlib import Path

LIMIT, DRAIN = 3_000, 6_000
POINTS_US = [1_000 * ms for ms in range(11, 31)]


def send(kind, body):
    sys.stdout.buffer.write(struct.pack("<IB", 1 + len(body), kind) + body)
    sys.stdout.buffer.flush()


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def batch(at_us, rnti, median):
    def series(quantity, value):
        values = struct.pack("<3f", 1.0, value, 9e6) * len(POINTS_US)
        return part(5, number(1, quantity) + part(2, values))

    forecast = part(1, number(1, rnti) + number(2, 1)) + number(2, at_us)
    forecast += series(1, 0.0) + series(2, median) + series(3, DRAIN)
    # One forecast in ten is from the fallback.
    forecast += number(6, 2 if at_us % 10_000 == 0 else 1)
    points = part(5, b"".join(map(varint, POINTS_US)))
    return part(3, struct.pack("<3f", 0.1, 0.5, 0.9)) + part(4, forecast) + points


behaviour = Path(sys.argv[sys.argv.index("--model") + 1]).name
measured = [int(n) for n in sys.argv[sys.argv.index("--measure") + 1 :]]
hello = {
    "protocol": 3 if behaviour == "newer" else 2,
    "model": "fake:1",
    # Differs between starts.
    "model_sha256": str(os.getpid()) if behaviour == "changes" else "m",
    "program_sha256": "p",
    "points_us": POINTS_US,
    "quantiles": [0.1, 0.9] if behaviour == "without-median" else [0.1, 0.5, 0.9],
    "quantities": ["OCCUPANCY_BYTES", "LIMIT_BYTES", "DRAIN_BYTES"],
    "warm_up_steps": 0,
    "t_m": [{"bearers": n, "reports": 1, "median_us": 60.2 + n} for n in measured],
}
if behaviour == "refuses":
    send(0x8F, json.dumps({"error": "manifest.json: no model"}).encode())
    sys.exit(2)
if behaviour == "prints":
    print("Welcome to the forecaster!")
    sys.exit(0)
send(0x81, json.dumps(hello).encode())
count = 0
while head := sys.stdin.buffer.read(5):
    length, kind = struct.unpack("<IB", head)
    body = sys.stdin.buffer.read(length - 1)
    if kind != 1:
        continue
    count += 1
    if count == 100 and behaviour == "dies":
        print("first line\nout of luck", file=sys.stderr)
        sys.exit(3)
    (at_us,) = struct.unpack_from("<q", body, len(body) - 8)
    (rnti,) = struct.unpack_from("<I", body, 8 + 4 + 144)
    answer = batch(at_us, rnti, float("nan") if behaviour == "says-nan" else LIMIT)
    send(0x82, answer[: len(answer) // 2] if behaviour == "says-half" else answer)
