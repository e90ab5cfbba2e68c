"""The downlink of a UE of OAI's RF simulator fades: its gain is set by telnet, step by step.

    python fading.py --port 9090 --gain-db 0 --speed-kmh 3 --carrier-ghz 3.6

OAI's own models do not change while they run. Gains are of one flat Rayleigh path with the Doppler
spectrum of a ring of scatterers (Clarke 1968), in real time: for radios that keep up with it.
Runs until it is ended, and writes a line with how many steps were late.
"""

from __future__ import annotations

import argparse
import signal
import socket
import threading
import time
from collections.abc import Callable

import numpy as np

PATHS = 64
LIGHT_M_PER_S = 299_792_458.0
STEPS_PER_DOPPLER_PERIOD = 12.0
"""Steps in the shortest time in which a phase turns around."""
SHORTEST_STEP_S = 0.001
CARRIER_GHZ = 3.6
SEED = 1
LEAST_POWER = 1e-6
"""Share of the mean: a deeper fade is none that a receiver tells from it."""
MODEL = 0
"""Index in the settings' list: that of the downlink."""


def rayleigh(doppler_hz: float, seed: int) -> Callable[[float], float]:
    """Power of a Rayleigh process of mean 1 over time in s: a sum of waves of random directions."""
    random = np.random.default_rng(seed)
    turns = doppler_hz * np.cos(random.uniform(0, 2 * np.pi, PATHS))
    phases = random.uniform(0, 2 * np.pi, PATHS)

    def power(at_s: float) -> float:
        waves = np.exp(1j * (2 * np.pi * turns * at_s + phases))
        return float(abs(waves.sum()) ** 2 / PATHS)

    return power


def doppler(speed_kmh: float, carrier_ghz: float) -> float:
    """Largest shift, Hz."""
    return speed_kmh / 3.6 * carrier_ghz * 1e9 / LIGHT_M_PER_S


def step_s(doppler_hz: float) -> float:
    """Time between two gains."""
    return max(SHORTEST_STEP_S, 1 / (STEPS_PER_DOPPLER_PERIOD * doppler_hz))


def fade(port: int, gain_db: float, doppler_hz: float, seed: int) -> None:
    """Sets gains until SIGTERM."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    power, period_s = rayleigh(doppler_hz, seed), step_s(doppler_hz)
    with socket.create_connection(("127.0.0.1", port)) as telnet:
        threading.Thread(target=_discard, args=(telnet,), daemon=True).start()
        began_s, steps, late = time.monotonic(), 0, 0
        while not stopped.is_set():
            now_s = time.monotonic() - began_s
            if (wait_s := steps * period_s - now_s) > 0:
                time.sleep(wait_s)
            else:
                late += wait_s < -period_s
                # Gains that were missed are of the past.
                steps = int(now_s / period_s)
            gain = gain_db + 10 * np.log10(max(power(steps * period_s), LEAST_POWER))
            telnet.sendall(f"channelmod modify {MODEL} ploss {gain:.2f}\n".encode())
            steps += 1
    print(f"{steps} steps of {1000 * period_s:.1f} ms, {late} late", flush=True)


def _discard(telnet: socket.socket) -> None:
    while telnet.recv(65_536):
        pass


def main() -> None:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--gain-db", type=float, default=0.0)
    parser.add_argument("--speed-kmh", type=float, required=True)
    parser.add_argument("--carrier-ghz", type=float, default=CARRIER_GHZ)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    doppler_hz = doppler(given.speed_kmh, given.carrier_ghz)
    fade(given.port, given.gain_db, doppler_hz, given.seed)


if __name__ == "__main__":
    main()
