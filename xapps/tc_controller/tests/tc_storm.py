"""Storms of faults and the quiet times after them, for the laws of control (docs/laws.md).

    python xapps/tc_controller/tests/tc_storm.py --first 0 --runs 1000

runs the seeds of as many storms on all cores. Ctrl-C ends it with the table of what was run so far.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from tc_laws import Laws
from tc_laws_setting import HEALING_S, NAMES, POLICIES, LawBrokenError, Weather


def disturb(laws: Laws) -> None:
    """One random fault, or its end."""
    name = laws.random.choice(NAMES)
    replica = laws.replicas[name]
    match laws.random.randrange(8):
        case 0 | 1 if replica.core is not None:
            laws.kill(name, lose_state=laws.random.random() < 0.3)
        case 0 | 1 | 2 if replica.core is None:
            laws.start(name)
        case 3 if replica.core is not None and not replica.stopped:
            laws.tally["stops"] += 1
            replica.stopped = True
        case 3 | 4 if replica.stopped:
            laws.resume(name)
        case 4 if replica.connected:
            laws.tally["links lost"] += 1
            laws.disconnect(replica)
        case 4 | 5 if replica.core is not None and not replica.stopped:
            laws.connect(replica)
        case 6 if laws.random.random() < 0.4:
            laws.restart_node()
        case 7 if replica.core is not None:
            laws.tally["policies changed"] += 1
            # All replicas of one deployment have one policy, but not at the same moment.
            policy = laws.random.choice(POLICIES)
            for each in laws.replicas.values():
                each.policy = policy
                if each.core is not None and not each.stopped:
                    laws.perform(each, each.core.set_policy(laws.now_us, policy))
        case _:
            laws.weather = Weather(
                delay_us=laws.random.choice([1, 20_000, 200_000, 700_000]),
                loss=laws.random.choice([0.0, 0.05, 0.3]),
            )


def calm(laws: Laws) -> None:
    """The faults end."""
    laws.weather = Weather()
    for name, replica in laws.replicas.items():
        if replica.stopped:
            laws.resume(name)
    if all(replica.core is None for replica in laws.replicas.values()):
        laws.start(laws.random.choice(NAMES))
    for replica in laws.replicas.values():
        if replica.core is not None:
            laws.connect(replica)
            if replica.core.policy is not replica.policy:
                laws.perform(replica, replica.core.set_policy(laws.now_us, replica.policy))


def run_seed(
    seed: int, *, spoil: Callable[[Laws, dict[str, Any], Any], Any] | None = None
) -> Counter[str]:
    """Two storms with a quiet time after each; returns what was exercised.

    Raises:
        LawBrokenError: the law and the seed.
    """
    laws = Laws(seed, spoil)
    for _ in range(2):
        for _ in range(laws.random.randrange(4, 12)):
            laws.run(laws.random.uniform(0.02, 1.5))
            disturb(laws)
        calm(laws)
        laws.run(HEALING_S)
        laws.judge_rest()
    laws.count_packets()
    laws.tally["runs"] += 1
    return laws.tally


def _judge(seed: int) -> tuple[int, Counter[str], str]:
    """A seed, what it exercised, and what it broke."""
    try:
        return seed, run_seed(seed), ""
    except LawBrokenError as error:
        return seed, Counter(), str(error)
    except Exception:  # a controller that raises is a finding like any other
        return seed, Counter(), f"seed {seed}: {traceback.format_exc()}"


def _workers_ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def main() -> int:
    """Returns 1 if a law was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--runs", type=int, default=1_000, help="how many seeds")
    chosen = parser.parse_args()
    tally: Counter[str] = Counter()
    broken: list[int] = []
    done, began_s = 0, time.monotonic()
    seeds = range(chosen.first, chosen.first + chosen.runs)
    with multiprocessing.Pool(os.cpu_count(), _workers_ignore_interrupts) as pool:
        try:
            for seed, exercised, what in pool.imap(_judge, seeds):
                done += 1
                tally += exercised
                if what:
                    broken.append(seed)
                    print(f"\n{what}", flush=True)
                rate = done / (time.monotonic() - began_s)
                print(
                    f"\r{done} of {chosen.runs} runs, {rate:.1f} a second, {len(broken)} broken; "
                    f"to go on: --first {seed + 1}   ",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
        except KeyboardInterrupt:
            pool.terminate()
    print(file=sys.stderr)
    for what, count in sorted(tally.items()):
        print(f"{what:>26} {count:>14}")
    if broken:
        print(f"seeds that break a law: {broken}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
