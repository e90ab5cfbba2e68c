"""Speed of the emulated gNB and a controller in lockstep: simulated seconds per CPU second.

Runs the default scenario alone, with the reports that the controller subscribes to, and with the
controller; and the same with a controller that is given each report by itself.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import gnb_lab
from measuring import write
from tc_controller.core.controller import Controller
from tc_controller.core.quiet import Quiet
from tc_controller.policy_file import load_policy
from tc_controller.policy_source import default_policy
from tc_evaluate.lockstep import Lockstep

SCENARIO = Path(__file__).parent.parent / "gnb" / "scenarios" / "default.yaml"


@dataclass(frozen=True, slots=True)
class Speed:
    """Simulated seconds per CPU second, the best of the runs."""

    what: str
    s_per_s: float


class OneByOne(Controller):
    """A controller that wants each report by itself."""

    def quiet(self, node_id: str) -> Quiet:
        """See `Controller`."""
        return super().quiet(node_id)._replace(stop_above_us=-1)


def world(pipeline: str) -> gnb_lab.World:
    """The default scenario with a pipeline on its bearer."""
    return gnb_lab.World(SCENARIO, overrides={"ues[0].drbs[0].pipeline": pipeline})


def alone(pipeline: str, seconds: float) -> None:
    """No controller, no reports."""
    world(pipeline).step_until(round(seconds * 1e6))


def reporting(seconds: float) -> None:
    """The reports of a controlled run, that nobody reads."""
    lockstep = Lockstep(world("transparent"), Controller(load_policy(default_policy())))
    lockstep.run(0.2)
    for end_us in range(200_000, round(seconds * 1e6), 100_000):
        lockstep.world.step_until(end_us)


def controlled(kind: type[Controller], seconds: float) -> None:
    """With a controller under the default policy."""
    Lockstep(world("transparent"), kind(load_policy(default_policy()))).run(seconds)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder for lockstep_speed.json")
    given = parser.parse_args()
    seconds = given.seconds
    cases: dict[str, Callable[[], None]] = {
        "transparent, no controller": lambda: alone("transparent", seconds),
        "low_latency, no controller": lambda: alone("low_latency", seconds),
        "low_latency, reports": lambda: reporting(seconds),
        "controller": lambda: controlled(Controller, seconds),
        "controller, reports one by one": lambda: controlled(OneByOne, seconds),
    }
    results = []
    for what, run in cases.items():
        spent_s = []
        for _ in range(given.runs):
            began = time.process_time()
            run()
            spent_s.append(time.process_time() - began)
        results.append(asdict(Speed(what, round(seconds / min(spent_s), 1))))
        print(f"{what:<32} {results[-1]['s_per_s']:>6} s/s")
    write(given.out, "lockstep_speed.json", results)


if __name__ == "__main__":
    main()
