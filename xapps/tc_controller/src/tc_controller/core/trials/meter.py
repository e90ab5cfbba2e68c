"""Measures bearers over one period of a trial: sojourn, drained bytes, drops.

The sojourn is sampled at each tick into a histogram of all slots of the node at once: one addition
per bearer, and no report is kept. What is measured includes idle seconds in both arms: a condition
such as *while backlogged* would depend on the pipeline, for one that bloats is backlogged longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tc_controller.core.inputs import BearerKey
from tc_controller.core.observe.bearer_view import BearerView
from tc_controller.core.observe.rlc_windows import RlcWindows

#: Upper bounds of the bins, µs: 16 per octave from 10 µs to 168 s; below, one bin.
_EDGES_US: Final = (10.0 * np.exp2(np.arange(0, 24 * 16 + 1) / 16)).astype(np.float32)
#: Fewer samples make no percentile.
_LEAST_SAMPLES: Final = 20

ViewOf = Callable[[BearerKey], BearerView | None]


@dataclass(frozen=True, slots=True)
class Measured:
    """One bearer over one period."""

    #: Sojourn at the percentile of the objective.
    sojourn_us: float
    rate_kbps: float
    #: Packets that the pipeline dropped per MB drained; ``None`` without a status report.
    drops_per_mb: float | None


@dataclass(frozen=True, slots=True)
class _Begin:
    slot: int
    at_us: int
    drained_bytes: int
    dropped_packets: int | None


class TrialMeter:
    """Measures from its creation.

    Args:
        windows: of the node.
        view: the present state of a bearer.
        bearers: those to measure; one without reports is left out.
    """

    def __init__(self, windows: RlcWindows, view: ViewOf, bearers: Iterable[BearerKey]) -> None:
        self._windows = windows
        self._view = view
        self._begins: dict[BearerKey, _Begin] = {}
        for key in bearers:
            state = view(key)
            if state is not None:
                pipeline = state.pipeline
                dropped = None if pipeline is None else pipeline.dropped_packets
                begin = _Begin(state.slot, state.at_us, state.drained_bytes, dropped)
                self._begins[key] = begin
        self._rows: NDArray[np.intp] = np.arange(windows.capacity)
        self._counts: NDArray[np.int32] = np.zeros((windows.capacity, _EDGES_US.size + 1), np.int32)
        self._sampled_us = windows.newest_us()
        self._samples = 0

    def sample(self) -> None:
        """Add the newest report, if there is one since the last call."""
        newest_us = self._windows.newest_us()
        if newest_us == self._sampled_us:
            return
        self._sampled_us = newest_us
        self._samples += 1
        # Slots of bearers that came later are not measured.
        sojourn_us = self._windows.all_sojourns_us()[: self._rows.size]
        self._counts[self._rows, np.searchsorted(_EDGES_US, sojourn_us)] += 1

    def finish(
        self, windows: RlcWindows, bearers: Iterable[BearerKey], percentile: float
    ) -> Mapping[BearerKey, Measured]:
        """What the bearers got, of those measured from the begin and in the same windows; a bearer
        that drained nothing is left out."""
        if windows is not self._windows or self._samples < _LEAST_SAMPLES:
            return {}
        found = {}
        for key in bearers:
            begin, now = self._begins.get(key), self._view(key)
            if begin is None or now is None or now.slot != begin.slot:
                continue
            drained = now.drained_bytes - begin.drained_bytes
            if drained <= 0 or now.at_us <= begin.at_us:
                continue
            drops = None
            if begin.dropped_packets is not None and now.pipeline is not None:
                drops = (now.pipeline.dropped_packets - begin.dropped_packets) * 1e6 / drained
            rate_kbps = drained * 8_000.0 / (now.at_us - begin.at_us)
            sojourn_us = histogram_percentile(self._counts[begin.slot], percentile)
            found[key] = Measured(sojourn_us, rate_kbps, drops)
        return found


def histogram_percentile(counts: NDArray[np.int32], percentile: float) -> float:
    """Percentile of a histogram over `_EDGES_US`, µs, interpolated within the bin."""
    below = np.cumsum(counts)
    rank = percentile / 100.0 * float(below[-1])
    index = int(np.searchsorted(below, rank))
    if index >= _EDGES_US.size:
        return float(_EDGES_US[-1])
    high = float(_EDGES_US[index])
    low = 0.0 if index == 0 else float(_EDGES_US[index - 1])
    before = 0 if index == 0 else int(below[index - 1])
    return low + (high - low) * (rank - before) / max(1, int(counts[index]))
