"""Latencies of the control loop: exact percentiles of the newest samples, and histograms."""

from __future__ import annotations

from array import array
from typing import Any, Final

import numpy as np
from ric.metrics import Histogram

_MAX_US: Final = 0xFFFF_FFFF


class Recent:
    """The newest ``capacity`` durations in µs."""

    def __init__(self, capacity: int = 1 << 17) -> None:
        # Of the standard library: an item of a NumPy array costs several times as much to set.
        self._values = array("I", bytes(4 * capacity))
        self._capacity = capacity
        self.count = 0
        #: Distribution of all samples.
        self.histogram = Histogram()

    def add(self, duration_us: int) -> None:
        """Add a sample. A negative one (two clocks) counts as 0."""
        self.histogram.observe_us(duration_us)
        if not 0 <= duration_us <= _MAX_US:
            duration_us = 0 if duration_us < 0 else _MAX_US
        self._values[self.count % self._capacity] = duration_us
        self.count += 1

    def summary(self) -> dict[str, Any]:
        """Count of all, percentiles of the newest, µs; ``None`` without samples."""
        kept = np.frombuffer(self._values, np.uintc)[: min(self.count, self._capacity)]
        if kept.size == 0:
            return {"count": 0, "p50": None, "p95": None, "p99": None, "max": None}
        p50, p95, p99 = np.percentile(kept, (50, 95, 99)).tolist()
        return {"count": self.count, "p50": p50, "p95": p95, "p99": p99, "max": int(kept.max())}


class LoopLatencies:
    """How fast the control loop is."""

    def __init__(self) -> None:
        #: Time between the node's collection of an RLC report and its arrival here.
        self.indication = Recent()
        #: Time between a report that triggers a decision, when its handling starts, and the answer.
        self.detect_to_ack = Recent(1 << 14)
        #: Time between a control and its answer; all controls.
        self.control = Recent(1 << 14)
        #: Handling of one RLC report.
        self.handling = Recent()

    def summary(self) -> dict[str, Any]:
        """Figures of each time, as stats file and decision log have them."""
        return {
            "indication_latency_us": self.indication.summary(),
            "detect_to_ack_us": self.detect_to_ack.summary(),
            "control_us": self.control.summary(),
            "handling_us": self.handling.summary(),
        }
