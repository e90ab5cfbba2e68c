"""Hyper-parameters of the network and the layout of its state; needs no TensorFlow."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from rlc_model import FEATURES

MEAN_WEIGHT: Final = 1 / 128
"""Weight of the newest sample in the moving mean and the mean deviation of each feature."""
LEAST_DEVIATION: Final = 1e-3
"""Added to a deviation, in spans of the feature: a quiet bearer's noise is not blown up, and a
first packet is no surprise without bound."""
Z_LIMIT: Final = 8.0
"""Deviations from the mean beyond this are cut off."""


class NetworkShape(BaseModel):
    """Layers of the network; the ranges are those of the search (DESIGN, stolidis2024 §IV-C)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layers: Annotated[int, Field(ge=1, le=4)] = 1
    units: Annotated[int, Field(ge=1, le=1024)] = 32
    dropout: Annotated[float, Field(ge=0, le=0.5)] = 0.0


class FitSettings(BaseModel):
    """How the network is trained."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: Literal["pinball", "mse"] = "pinball"
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-3
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 20
    patience: Annotated[int, Field(ge=1)] = 5
    lanes: Annotated[int, Field(ge=1, le=4096)] = 64
    steps: Annotated[int, Field(ge=2, le=4096)] = 64
    """Samples through which gradients flow; the state flows on (truncated back-propagation)."""
    piece_samples: Annotated[int, Field(ge=8)] = 4096
    """Longest run of samples from zero state."""
    warm_up_samples: Annotated[int, Field(ge=0)] = 256
    """Samples from zero state that do not count: neither in training nor when served."""
    batches_per_epoch: Annotated[int, Field(ge=1)] | None = None
    """Fewer than the training part holds; None for all of it."""
    gradient_norm: Annotated[float, Field(gt=0)] = 1.0


def state_size(shape: NetworkShape) -> int:
    """Floats of state per bearer: mean and deviation of each feature, then h and c per layer."""
    return 2 * len(FEATURES) + 2 * shape.layers * shape.units
