"""RLC reports that were taken in but not looked at yet: several cost little more than one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


class Backlog:
    """Reports of the same bearers, in the order of their times."""

    def __init__(self) -> None:
        self.reports = 0
        self.newest_us = 0
        self._at_us: list[int] = []
        self._bearers: list[NDArray[np.void]] = []
        self._pipeline_us: list[NDArray[np.float32]] = []

    def add(
        self, at_us: Sequence[int], bearers: NDArray[np.void], pipeline_us: NDArray[np.float32]
    ) -> None:
        """Add reports; ``pipeline_us``, by slot, must not be changed in place while they wait."""
        self.reports += len(at_us)
        self.newest_us = at_us[-1]
        self._at_us += at_us
        self._bearers.append(bearers)
        self._pipeline_us.append(pipeline_us)

    def take(
        self, most: int
    ) -> Iterator[tuple[Sequence[int], NDArray[np.void], NDArray[np.float32]]]:
        """Remove all reports; gives them by at most so many at once, with the sojourns in the
        pipeline by report and slot, or by slot where they are the same for all."""
        at_us, kind = self._at_us, self._bearers[0].dtype
        # np.concatenate compares the types of records field by field, which takes longer than all
        # the rest.
        data = b"".join([each.tobytes() for each in self._bearers])
        bearers = np.frombuffer(data, kind).reshape(len(at_us), self._bearers[0].shape[1])
        first = self._pipeline_us[0]
        pipeline_us = first
        if any(each is not first for each in self._pipeline_us):
            counts = [len(each) for each in self._bearers]
            pipeline_us = np.repeat(np.stack(self._pipeline_us), counts, axis=0)
        self.reports = 0
        self._at_us, self._bearers, self._pipeline_us = [], [], []
        for begin in range(0, len(at_us), most):
            chosen = slice(begin, begin + most)
            own_us = pipeline_us if pipeline_us is first else pipeline_us[chosen]
            yield at_us[chosen], bearers[chosen], own_us
