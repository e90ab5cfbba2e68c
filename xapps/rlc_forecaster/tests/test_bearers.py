"""Slots of bearers that statuses name, while bearers come and go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rlc_forecaster.core.bearers import BearerSlots

DTYPE = np.dtype([("rnti", "<u4"), ("rbid", "u1")])


def report(*rntis: int) -> NDArray[np.void]:
    return np.array([(rnti, 1) for rnti in rntis], DTYPE)


def test_the_same_status_finds_the_bearers_of_its_time() -> None:
    slots = BearerSlots(100_000)

    def found() -> dict[int, int]:
        rows, each = slots.find(np.array([9, 5, 7]), np.ones(3, np.int64))
        return dict(zip(rows.tolist(), each.tolist(), strict=True))

    slots.rows(report(5), 0)
    assert found() == {1: 0}
    slots.rows(report(5, 7), 1_000)
    assert found() == {1: 0, 2: 1}
    slots.rows(report(7), 2_000)
    assert slots.expire(1_500).tolist() == [0]
    assert found() == {2: 1}
    slots.rows(report(7, 9), 3_000)
    assert found() == {2: 1, 0: 0}
    two = np.array([7, 5]), np.ones(2, np.int64)
    assert [each.tolist() for each in slots.find(*two)] == [[0], [1]], "another status"
