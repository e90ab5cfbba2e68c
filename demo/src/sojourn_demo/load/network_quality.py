"""``networkQuality`` of the IETF community (goresponsiveness): a test of responsiveness by real
connections, and its score from the probes that the client logs.

The client's own trimmed mean keeps the fastest 5 % of the probes, where the draft drops the
slowest 5 % (draft-ietf-ippm-responsiveness-09, "Aggregating the Measurements").
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sojourn_demo import DemoError
from sojourn_demo.responsiveness import Score

CLIENTS: Final = ("networkQuality", "goresponsiveness")
"""Its name as its own build and as `go install` names it."""
CONFIGURATION: Final = "/.well-known/nq"
PROBES_PER_S: Final = 20
"""Most pairs of probes a second. The draft also bounds them to 5 % of the path, here 40 a second;
the client does not, and its default of 100 takes a core for handshakes."""
PATIENCE_S: Final = 150.0
"""Time for both directions: at most 20 s each, and 15 s more without stability."""
LOG: Final = "probes.csv"
ROUND_TRIPS: Final = "The number of round trips measured by this data point."
DURATION_S: Final = "The duration for this measurement."
TYPE: Final = "The type of the probe."
"""Heads of columns of the log."""
KEPT_PCT: Final = 95
MS_PER_MINUTE: Final = 60_000.0
FOREIGN, LOADED = "Foreign", "SelfDown"
"""Types of the probes of the downlink."""


def client(program: str, address: str, folder: Path) -> tuple[str, ...]:
    """The command of a test against the server at `address`, which writes its probes to
    `folder`."""
    return (
        *(program, "-url", f"https://{address}{CONFIGURATION}"),
        *("-rpm.mps", str(PROBES_PER_S), "-logger-filename", str(folder / LOG)),
    )


def score(folder: Path) -> Score | None:
    """The score of the downlink by the probes in `folder`; None unless there are some of both
    kinds: a queue of seconds answers none within the test.

    Raises:
        DemoError: A log cannot be read.
    """
    halves = []
    for name, kind in (("foreign", FOREIGN), ("self", LOADED)):
        logs = sorted(folder.glob(f"{Path(LOG).stem}-{name}-*.csv"))
        round_trips_ms = [ms for log in logs for ms in _read(log, kind)]
        if not round_trips_ms:
            return None
        mean_ms = trimmed_mean(round_trips_ms)
        if not 0 < mean_ms < math.inf:
            raise DemoError(f"{folder}: a round trip takes {mean_ms} ms; expected a time")
        halves.append(MS_PER_MINUTE / mean_ms)
    foreign, loaded = halves
    return Score((foreign + loaded) / 2, foreign, loaded)


def trimmed_mean(values: Sequence[float]) -> float:
    """Mean without the largest 5 %; at least one value is kept."""
    kept = sorted(values)[: -(-len(values) * KEPT_PCT // 100)]
    return sum(kept) / len(kept)


def _read(log: Path, kind: str) -> Iterator[float]:
    """Mean time of a round trip of each probe of this kind, ms."""
    try:
        with log.open(newline="") as file:
            for row in csv.DictReader(file, skipinitialspace=True):
                if row[TYPE].strip() == kind:
                    yield 1e3 * float(row[DURATION_S]) / float(row[ROUND_TRIPS])
    except (OSError, ValueError, KeyError, AttributeError, TypeError, ArithmeticError) as error:
        raise DemoError(f"{log}: {error!r}; expected probes of goresponsiveness") from error
