"""RLC reports that were taken in but not looked at yet: many cost little more than one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


class Backlog:
    """Reports of the same bearers, in the order of their times."""

    def __init__(self) -> None:
        self.reports = 0
        self.newest_us = 0
        #: Reports before those added last, and before what comes now.
        self._begin = self._now = 0
        self._at_us: list[int] = []
        self._bearers: list[NDArray[np.void]] = []
        #: Sojourns in the pipeline by slot, each with the number of reports before it.
        self._pipeline_us: list[tuple[int, NDArray[np.float32]]] = []

    def add(
        self, at_us: Sequence[int], bearers: NDArray[np.void], pipeline_us: NDArray[np.float32]
    ) -> None:
        """Add reports; sojourns in the pipeline are these, by slot, until `changeable`."""
        self._begin = self._now = self.reports
        if not at_us:
            return
        if not self.reports:
            self._pipeline_us = [(0, pipeline_us)]
        self.reports += len(at_us)
        self.newest_us = at_us[-1]
        self._at_us += at_us
        self._bearers.append(bearers)

    def come_to(self, count: int) -> None:
        """What follows happens after so many of the reports added last."""
        self._now = self._begin + count

    def changeable(self) -> NDArray[np.float32]:
        """The sojourns in the pipeline from now on, to be changed."""
        since, pipeline_us = self._pipeline_us[-1]
        if since != self._now:
            pipeline_us = pipeline_us.copy()
            self._pipeline_us.append((self._now, pipeline_us))
        return pipeline_us

    def take(
        self, most: int
    ) -> Iterator[tuple[Sequence[int], NDArray[np.void], NDArray[np.float32]]]:
        """Remove all reports; gives them by at most so many at once, with the sojourns in the
        pipeline by report and slot, or by slot where they are the same for all."""
        at_us, bearers = self._at_us, self._bearers[0]
        if len(self._bearers) > 1:
            # np.concatenate compares the types of records field by field, which takes longer than
            # all the rest.
            data = b"".join([each.tobytes() for each in self._bearers])
            bearers = np.frombuffer(data, bearers.dtype).reshape(len(at_us), bearers.shape[1])
        varies = len(self._pipeline_us) > 1
        pipeline_us = self._pipeline_us[0][1]
        if varies:
            begins = [since for since, _ in self._pipeline_us]
            counts = np.diff([*begins, len(at_us)])
            pipeline_us = np.stack([each for _, each in self._pipeline_us]).repeat(counts, axis=0)
        self.reports = 0
        self._at_us, self._bearers = [], []
        for begin in range(0, len(at_us), most):
            chosen = slice(begin, begin + most)
            yield at_us[chosen], bearers[chosen], pipeline_us[chosen] if varies else pipeline_us
