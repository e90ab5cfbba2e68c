"""Random kills, stops and full disks: nothing is lost, nothing is corrupt, everything heals.

`gnb-lab serve`, two `tc-controller` that share it, and `rlc-forecaster` run as processes. In storms
each is killed or stopped at random, and the disk of their files fills up; then all faults end, and
within a bound every bearer must have its pipeline again. `kills.json` has what happened and the
slowest recovery; the exit status is 1 if a law was broken. The disk is a small tmpfs in a mount
namespace of its own; where that is not allowed, the disk does not fill up, and the result says so.

    python benchmarks/kills.py --seconds 120 --out out/kills
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog
import yaml
from kills_laws import Bearers, BrokenError, StateWatch, check_decisions, check_lines
from measuring import write
from sojourn_demo import DemoError
from sojourn_demo.programs import Program, free_address, stop_as_by_ctrl_c

DISK_BYTES: Final = 24 << 20
LEASE_MS: Final = 3_000
#: Longest time between the end of the faults and the pipelines of all bearers: a lease, the start
#: of the slowest program on a busy machine, a retry after the longest back-off.
HEALED_S: Final = LEASE_MS / 1000 + 40.0
LONG_FULL_S: Final = 6.0
"""A disk that is full for as long is reported by the readiness of a controller."""
UES: Final = 3
CONTROLLERS: Final = ("first", "second")
BASES: Final = ("low_latency", "fq_codel")
IN_NAMESPACE: Final = "SOJOURN_KILLS_DISK"
SCENARIO: Final = {
    "name": "kills",
    "duration_s": 86_400,
    "cell": {"rat": "nr", "n_prb": 51, "scs_khz": 30, "tdd": {"pattern": "DDDDDDDMUU"}},
    "ues": [{"rnti": 17, "count": UES, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
    "flows": [
        {"name": "load", "kind": "udp_cbr", "rnti": "each", "rate_kbps": 1_000},
        {"name": "ping", "kind": "ping", "rnti": "each", "interval_ms": 100},
    ],
}


@dataclass
class Place:
    """A program and where it runs."""

    name: str
    command: tuple[str, ...]
    program: Program | None = None
    is_stopped: bool = False
    killed_at_s: list[float] = field(default_factory=list)


class Storms:
    """The programs, the faults and the laws."""

    def __init__(self, out: Path, disk: Path, *, can_fill: bool, seed: int) -> None:
        self.random = random.Random(seed)
        self.out, self.disk, self.can_fill = out, disk, can_fill
        self.tally: Counter[str] = Counter()
        self.slowest_s = 0.0
        #: Unix times between which the disk was full.
        self.full_s: list[tuple[float, float]] = []
        self._full_since_s: float | None = None
        self.full_disk_reports: Counter[str] = Counter()
        (out / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO))
        self.base = BASES[0]
        self.write_policy()
        self.gateway = free_address()
        self.bearers = Bearers(self.gateway)
        self.places = {place.name: place for place in self._places()}
        self.states = {name: StateWatch(disk / f"{name}-state.json") for name in CONTROLLERS}

    def _places(self) -> list[Place]:
        gateway = ("--gateway", self.gateway, "--gateway-backoff-max-s", "1")
        gnb = ("gnb-lab", "serve", str(self.out / "scenario.yaml"), "--listen", self.gateway)
        audit = ("--audit", str(self.disk / "gnb-audit.jsonl"))
        forecaster = ("rlc-forecaster", *gateway, "--listen", free_address())
        return [
            Place("gnb", (*gnb, *audit, *common())),
            Place("forecaster", (*forecaster, *common())),
            *(
                Place(
                    name,
                    (
                        *("tc-controller", *gateway, *common()),
                        *("--policy", str(self.out / "policy.yaml")),
                        *("--identity", name),
                        *("--state", str(self.disk / f"{name}-state.json")),
                        *("--decision-log", str(self.disk / f"{name}-decisions.jsonl")),
                        *("--decision-log-max-bytes", "200000", "--decision-log-keep", "50"),
                    ),
                )
                for name in CONTROLLERS
            ),
        ]

    # ------------------------------------------------------------------ programs

    async def start(self, place: Place) -> None:
        """Start a program, and wait until it is ready."""
        path = Path(sys.executable).parent / place.command[0]
        if place.name == "gnb":
            self.bearers.restarted()
        place.program = Program([path, *place.command[1:]], self.out / f"{place.name}.log")
        await asyncio.to_thread(place.program.wait_ready)
        self.tally[f"starts of {place.name}"] += 1

    def kill(self, place: Place) -> None:
        """SIGKILL."""
        if place.program is not None:
            place.program.kill()
            place.killed_at_s.append(time.time())
            place.program, place.is_stopped = None, False
            self.tally[f"kills of {place.name}"] += 1

    def stop(self, place: Place, *, go_on: bool) -> None:
        """SIGSTOP or SIGCONT."""
        if place.program is not None and place.is_stopped is go_on:
            place.program.process.send_signal(signal.SIGCONT if go_on else signal.SIGSTOP)
            place.is_stopped = not go_on
            self.tally[f"stops of {place.name}"] += not go_on

    def check_alive(self) -> None:
        """No program ends by itself, whatever happens to the others and to its disk."""
        for place in self.places.values():
            if place.program is not None and not place.program.alive:
                raise BrokenError(str(place.program.ended()))

    def write_policy(self) -> None:
        """A policy with the present base for all bearers; replaced as a whole."""
        rule = {"name": "all", "base": [{"template": self.base}]}
        enforce = {"lease_ms": LEASE_MS, "cool_down_ms": 1_000}
        policy = {"version": 1, "rules": [{**rule, "enforce": enforce}]}
        beside = self.out / "policy.new"
        beside.write_text(yaml.safe_dump(policy))
        beside.replace(self.out / "policy.yaml")

    # ---------------------------------------------------------------------- disk

    def fill(self) -> None:
        """The disk is full."""
        if not self.can_fill or self._full_since_s is not None:
            return
        self._full_since_s = time.time()
        self.tally["full disks"] += 1
        with (self.disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            while ballast.write(b"\0" * 4096):
                pass
        # Another policy leads to decisions, controls and states to save.
        self.base = next(base for base in BASES if base != self.base)
        self.write_policy()

    def empty(self) -> None:
        """There is room again."""
        (self.disk / "ballast").unlink(missing_ok=True)
        if self._full_since_s is not None:
            self.full_s.append((self._full_since_s, time.time()))
            self._full_since_s = None

    # ---------------------------------------------------------------------- runs

    async def run(self, seconds: float) -> None:
        """Storms and quiet times until the time is over."""
        began_s = time.monotonic()
        watching: asyncio.Task[None] | None = None
        try:
            for place in self.places.values():
                await self.start(place)
            watching = asyncio.create_task(self.bearers.watch())
            await self.heal()
            while (passed_s := time.monotonic() - began_s) < seconds:
                print(
                    f"\r{passed_s:.0f} of {seconds:.0f} s, {sum(self.tally.values())} faults and "
                    f"starts, slowest recovery {self.slowest_s:.1f} s   ",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
                until_s = time.monotonic() + self.random.uniform(5, 15)
                while time.monotonic() < until_s:
                    await self.disturb()
                    await self.pass_time(self.random.uniform(0.1, 2))
                await self.heal()
        finally:
            if watching is not None:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
            self.empty()
            for place in self.places.values():
                self.stop(place, go_on=True)
                if place.program is not None:
                    await asyncio.to_thread(place.program.stop)
        self.check_files()

    async def disturb(self) -> None:
        """One fault, or its end."""
        place = self.random.choice(list(self.places.values()))
        match self.random.randrange(6):
            case 0 | 1 if place.program is not None:
                self.kill(place)
            case 0 | 1 | 2 if place.program is None:
                await self.start(place)
            case 2:
                self.stop(place, go_on=False)
            case 3:
                self.stop(place, go_on=True)
            case 4:
                self.fill()
                if self.random.random() < 0.5:
                    await self.pass_time(LONG_FULL_S)
            case _:
                self.empty()

    async def pass_time(self, seconds: float) -> None:
        """Time passes; the laws that hold at any moment are checked."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            self.check_alive()
            if self.bearers.broken:
                raise BrokenError(self.bearers.broken)
            for state in self.states.values():
                state.check()
            if self._full_since_s is not None:
                await self.read_readiness()
            await asyncio.sleep(0.1)

    async def read_readiness(self) -> None:
        """What readiness says of a full disk; a program is ready for control all the same."""
        for name in CONTROLLERS:
            for what, detail in (await self.conditions(name)).items():
                if "not saved" in detail or "not written" in detail:
                    self.full_disk_reports[what] += 1

    async def conditions(self, name: str) -> dict[str, str]:
        """The conditions of a controller's readiness, in words; empty while it does not run."""
        place = self.places[name]
        if place.program is None or place.is_stopped:
            return {}
        text = await asyncio.to_thread(fetch, f"http://{place.program.ready['metrics']}/readyz")
        return {what: each["detail"] for what, each in text.items()}

    async def heal(self) -> None:
        """All faults end: within a bound all bearers have their pipeline, and it is saved."""
        self.empty()
        for place in self.places.values():
            self.stop(place, go_on=True)
            if place.program is None:
                await self.start(place)
        began_s = time.monotonic()
        while not (self.bearers.have(self.base, UES) and await self.is_saved()):
            await self.pass_time(0.1)
            if time.monotonic() - began_s > HEALED_S:
                conditions = {name: await self.conditions(name) for name in CONTROLLERS}
                in_force = (self.bearers.names, self.bearers.revisions)
                raise BrokenError(f"not healed, wanted {self.base}: {in_force}, {conditions}")
        self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)
        self.tally["recoveries"] += 1

    async def is_saved(self) -> bool:
        """Whether a controller has saved what is in force, and none has anything unsaved."""
        if not any(s.has(self.base, self.bearers.revisions) for s in self.states.values()):
            return False
        conditions = [await self.conditions(name) for name in CONTROLLERS]
        return all("not saved" not in detail for each in conditions for detail in each.values())

    def check_files(self) -> None:
        """The logs at the end."""
        full = self.tally["full disks"]
        for name in CONTROLLERS:
            log, kills = self.disk / f"{name}-decisions.jsonl", self.places[name].killed_at_s
            whole, torn = check_lines(log, len(kills) + full)
            self.tally["lines of decision logs"] += whole
            self.tally["torn lines of decision logs"] += torn

            def is_excused(at_s: float, kills: list[float] = kills) -> bool:
                return any(0 <= killed_s - at_s < 1 for killed_s in kills) or any(
                    begin_s - 1 <= at_s <= end_s + 1 for begin_s, end_s in self.full_s
                )

            logged = check_decisions(log, self.out / f"{name}.log", is_excused)
            self.tally["decisions logged"] += logged
        audit = self.disk / "gnb-audit.jsonl"
        # Each line that meets a full disk may leave its beginning.
        whole, torn = check_lines(audit, len(self.places["gnb"].killed_at_s) + 50 * full)
        self.tally["lines of the audit"] += whole
        self.tally["reads of state files"] += sum(state.reads for state in self.states.values())
        self.tally["reports of bearers"] = self.bearers.reports
        # A shorter one may pass while no controller runs or writes.
        long = [end_s - begin_s for begin_s, end_s in self.full_s if end_s - begin_s >= LONG_FULL_S]
        if long and not self.full_disk_reports:
            raise BrokenError(f"readiness did not report {len(long)} full disks")


def common() -> tuple[str, ...]:
    """Settings of every program: an address for its metrics, logs that can be read again."""
    return ("--metrics-listen", free_address(), "--log-format", "json", "--log-level", "info")


def fetch(url: str) -> dict[str, dict[str, str]]:
    """The JSON of a server, whatever its status; empty if the program is just gone."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            body = answer.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    except OSError:
        return {}
    found: dict[str, dict[str, str]] = json.loads(body)["conditions"]
    return found


def enter_namespace(disk: Path) -> None:
    """Runs this program again with a small disk of its own; returns where none may be made."""
    tried = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    if shutil.which("unshare") is None or subprocess.call(tried):
        return
    mount = f'mount -t tmpfs -o size={DISK_BYTES} tmpfs {disk} && exec "$0" "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount]
    os.environ[IN_NAMESPACE] = "1"
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


def main() -> int:
    """Returns 1 if a law was broken, 2 if the programs could not be run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/kills"))
    chosen = parser.parse_args()
    disk = chosen.out / "disk"
    can_fill = IN_NAMESPACE in os.environ
    if not can_fill:
        shutil.rmtree(chosen.out, ignore_errors=True)
        disk.mkdir(parents=True)
        enter_namespace(disk)
        print("no mount namespaces here: the disk does not fill up", file=sys.stderr)
    # The client that watches the bearers tells of each lost connection.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    stop_as_by_ctrl_c()
    storms = Storms(chosen.out, disk, can_fill=can_fill, seed=chosen.seed)
    broken = ""
    try:
        asyncio.run(storms.run(chosen.seconds))
    except KeyboardInterrupt:
        pass
    except (BrokenError, DemoError) as error:
        broken = str(error)
    # The disk ends with its namespace.
    shutil.copytree(disk, chosen.out / "files", dirs_exist_ok=True)
    result = {
        "seconds": chosen.seconds,
        "seed": chosen.seed,
        "disk_fills_up": can_fill,
        "slowest_recovery_s": round(storms.slowest_s, 2),
        "full_disk_reports": dict(storms.full_disk_reports),
        "broken": broken,
        **storms.tally,
    }
    write(chosen.out, "kills.json", result)
    print(file=sys.stderr)
    for what, count in result.items():
        print(f"{what:>30} {count}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
