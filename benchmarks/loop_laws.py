"""Runs the laws of control for the controller's core on many seeds (docs/laws.md).

    PYTHONPATH=xapps/tc_controller/tests python benchmarks/loop_laws.py --first 0 --runs 1000

All cores take part. Ctrl-C ends it with the table of what was run so far.
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

from tc_laws_setting import LawBrokenError
from tc_storm import run_seed


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
