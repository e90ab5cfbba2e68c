"""Hyper-parameters of the network and the layout of its state; needs no TensorFlow."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from rlc_model import FEATURES, MinMaxScaler

MEAN_WEIGHT: Final = 1 / 128
"""Weight of the newest sample in the moving mean and the mean deviation of each feature."""
LEAST_DEVIATION: Final = 2e-5
"""Added to a deviation, in spans of the feature: of a queue of 10 MB some packets' headers. A quiet
bearer's noise is not blown up, and a first packet is no surprise without bound."""
LEAST_SCALE: Final = 2e-4
"""The same for the scale by which a bearer's loss is divided: what a quiet bearer loses to its
first packet must not outweigh all others."""
Z_LIMIT: Final = 8.0
"""Deviations from the mean beyond this are cut off."""
LEVEL_GAIN: Final = 1e4
"""Levels are seen on a logarithmic scale from a ten-thousandth of the range on: queues of some
packets and of some megabytes both tell apart what they are."""
TAPS: Final = 9
"""Earlier samples that are seen beside the newest: ten of 1 ms hold a whole number of periods of
every TDD pattern that is in use (38.331 dl-UL-TransmissionPeriodicity up to 10 ms)."""
TAPPED: Final = (
    FEATURES.index("occupancy_bytes"),
    FEATURES.index("drained_bytes_per_ms"),
    FEATURES.index("arrived_bytes_per_ms"),
)
"""Columns of which they are."""
OCCUPANCY: Final = FEATURES.index("occupancy_bytes")
LIMIT: Final = FEATURES.index("queue_limit_bytes")
BYTES: Final = tuple(i for i, name in enumerate(FEATURES) if "bytes" in name)
"""Columns that can be compared with each other."""
INSIDE: Final = 2 * len(FEATURES) + len(BYTES) + 1 + TAPS * len(TAPPED)
"""Inputs of the first layer: deviations, room below the limit, levels, bytes in units of the
occupancy's deviation, earlier deviations."""


class NetworkShape(BaseModel):
    """Layers of the network; the ranges are those of the search (DESIGN, stolidis2024 §IV-C)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layers: Annotated[int, Field(ge=1, le=4)] = 1
    units: Annotated[int, Field(ge=1, le=1024)] = 32
    dropout: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    rank: Annotated[int, Field(ge=1, le=1024)] = 24
    """Rank of the head's kernel. What it says at all points and quantiles spans little more than
    twenty directions, and with many bearers a wide kernel is what costs most."""


class FitSettings(BaseModel):
    """How the network is trained."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: Literal["pinball", "mse"] = "pinball"
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-3
    """Of the first epoch; it falls to a fiftieth of it in half a cosine over `epochs`."""
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 20
    patience: Annotated[int, Field(ge=1)] = 5
    lanes: Annotated[int, Field(ge=1, le=4096)] = 64
    steps: Annotated[int, Field(ge=2, le=4096)] = 64
    """Samples through which gradients flow; the state flows on (truncated back-propagation)."""
    label_stride: Annotated[int, Field(ge=1)] = 3
    """Every third sample has labels: neighbours say nearly the same and cost as much. It shares no
    divisor with the slots of a TDD pattern, so that each of them has its turn."""
    piece_samples: Annotated[int, Field(ge=8)] = 4096
    """Longest run of samples from zero state."""
    warm_up_samples: Annotated[int, Field(ge=0)] = 256
    """Samples from zero state that do not count: neither in training nor when served."""
    batches_per_epoch: Annotated[int, Field(ge=1)] | None = None
    """Fewer than the training part holds; None for all of it."""
    gradient_norm: Annotated[float, Field(gt=0)] = 1.0


def bytes_per_occupancy(scaler: MinMaxScaler) -> NDArray[np.float32]:
    """``(len(BYTES),)`` by which scaled levels are multiplied to be spans of the occupancy.

    Bytes are scaled from 0 (:mod:`rlc_train.splits`), so a factor is enough.
    """
    factors: NDArray[np.float32] = scaler.span[list(BYTES)] / scaler.span[OCCUPANCY]
    return factors


def state_size(shape: NetworkShape) -> int:
    """Floats of state per bearer: mean and deviation of each feature, earlier samples, then h and c
    per layer."""
    return 2 * len(FEATURES) + TAPS * len(TAPPED) + 2 * shape.layers * shape.units
