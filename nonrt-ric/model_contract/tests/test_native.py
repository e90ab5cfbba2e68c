"""Arrays of the wrong layout or length are refused."""

from __future__ import annotations

import numpy as np
import pytest
import rlc_native

OFFSETS = {
    "occupancy_bytes": 0,
    "occupancy_packets": 4,
    "pdu_bytes": 8,
    "head_of_line_age": 12,
    "mean_sojourn": 16,
}
FIELDS = rlc_native.Fields(record=24, **OFFSETS)


def ones(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.ones(shape, np.float32)


REPORT = slice(0, 4), 7
"""Slots and tick."""


def mix(slots: int) -> rlc_native.Mix:
    """A mix of three quantities, two points and one quantile."""
    made = rlc_native.Mix(
        [0, 1, 2],
        np.array([0.5], np.float32),
        np.array([5, 6]),
        np.array([1, 1]),
        rate=None,
        limit=None,
        late=0,
    )
    made.grow(slots)
    return made


def test_arrays_in_column_order_are_refused() -> None:
    columns = np.asfortranarray(ones(4, 3))
    with pytest.raises(ValueError, match="base: expected C-contiguous"):
        mix(4).forecasts(
            *REPORT, ones(4, 3), None, None, ones(4, 3, 2, 1), ones(4, 3, 2), ones(3), columns
        )
    with pytest.raises(ValueError, match="before: expected C-contiguous"):
        before = np.zeros((2, 4), np.int64).T
        rlc_native.samples(np.zeros(96, np.uint8), FIELDS, before, 1.0, None)


def test_mismatched_lengths_are_named() -> None:
    before = np.zeros((2, 2), np.int64)
    for report, elapsed_ms, seen, name in (
        (24, 1.0, None, "report"),
        (48, np.ones(3), None, "elapsed_ms"),
        (48, 1.0, np.ones(3, np.bool_), "seen"),
    ):
        with pytest.raises(ValueError, match=f"^{name} has length"):
            rlc_native.samples(np.zeros(report, np.uint8), FIELDS, before, elapsed_ms, seen)
    with pytest.raises(ValueError, match="before: expected two columns"):
        rlc_native.samples(np.zeros(24, np.uint8), FIELDS, np.zeros((1, 3), np.int64), 1.0, None)
    with pytest.raises(ValueError, match=r"^scale has length"):
        mix(4).forecasts(
            *REPORT, ones(4, 3), None, None, ones(4, 3, 2, 1), ones(4, 3, 1), ones(3), ones(4, 3)
        )
    with pytest.raises(ValueError, match=r"^values has length"):
        mix(4).forecasts(
            *REPORT, ones(4, 3), None, None, ones(4, 3, 1, 1), ones(4, 3, 2), ones(3), ones(4, 3)
        )


def test_a_field_beyond_its_record_is_refused() -> None:
    short = rlc_native.Fields(record=20, **OFFSETS)
    with pytest.raises(ValueError, match=r"^record has length 20"):
        rlc_native.samples(np.zeros(20, np.uint8), short, np.zeros((1, 2), np.int64), 1.0, None)
