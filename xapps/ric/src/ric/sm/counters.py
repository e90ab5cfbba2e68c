"""Differences of cumulative 32-bit counters, which wrap at 2³²."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MODULUS = 1 << 32


def delta32(new: ArrayLike, old: ArrayLike) -> NDArray[np.uint32]:
    """How far each counter went from `old` to `new`, at most one wrap in between.

    Element by element with broadcasting. A counter that was set back to zero cannot be told from
    one that wrapped: after `Indication.subscription` changes, start again from a fresh value.
    """
    newer: NDArray[Any] = np.asarray(new, dtype=np.uint32)
    older: NDArray[Any] = np.asarray(old, dtype=np.uint32)
    # Arrays of at least one dimension: NumPy warns of scalar overflow, and wrapping is wanted here.
    result: NDArray[np.uint32] = np.subtract(np.atleast_1d(newer), np.atleast_1d(older))
    return result.reshape(np.broadcast_shapes(newer.shape, older.shape))


def delta32_int(new: int, old: int) -> int:
    """`delta32` of two plain integers."""
    return (new - old) % _MODULUS
