"""Hyper-parameters of the network and the layout of its state, without Keras."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator
from rlc_model import FEATURES, MinMaxScaler

from rlc_train import imports

MEAN_WEIGHT: Final = 1 / 128
"""Weight of the newest sample in the slow mean and in both mean deviations of each feature."""
FAST_WEIGHT: Final = 1 / 8
"""The same in the fast mean. Deviations from it are of the size of changes within milliseconds; in
a large queue, those from the slow mean are ten times as large."""
LEAST_DEVIATION: Final = 2e-5
"""Added to a deviation, in spans of the feature (200 bytes of a 10 MB queue), so that noise of a
quiet bearer is not amplified and the deviation of a first packet is bounded."""
SLOW_AT_FIRST: Final = -4.0
"""Logarithm of the slow deviation's weight in the unit of an untrained network."""
LEAST_SCALE: Final = 2e-4
"""The same for the scale that divides a bearer's loss, so that the first packet of a quiet bearer
does not dominate the loss."""
Z_LIMIT: Final = 8.0
"""Deviations from the mean are clipped to this."""
LEVEL_GAIN: Final = 1e4
"""Levels have a logarithmic scale from a ten-thousandth of the range, which resolves queues of some
packets and of some megabytes."""
TAPS: Final = 9
"""Earlier samples used with the newest: ten of 1 ms cover whole periods of the usual TDD patterns
(38.331 dl-UL-TransmissionPeriodicity up to 10 ms)."""
TAPPED: Final = (
    FEATURES.index("occupancy_bytes"),
    FEATURES.index("drained_bytes_per_ms"),
    FEATURES.index("arrived_bytes_per_ms"),
)
"""Their columns."""
OCCUPANCY: Final = FEATURES.index("occupancy_bytes")
LIMIT: Final = FEATURES.index("queue_limit_bytes")
BYTES: Final = tuple(i for i, name in enumerate(FEATURES) if "bytes" in name)
"""Columns in bytes."""
INPUTS: Final = 3 * len(FEATURES) + len(BYTES) + 1 + TAPS * len(TAPPED)
"""Inputs of the first layer: deviations, room below the limit, levels, bytes in units of the
occupancy's deviation, ratios of slow to fast deviations, earlier deviations."""


CUSTOM: Final = "custom"
"""The kind of a network with a layer of the user."""


class NetworkShape(BaseModel):
    """Layers of the network (ranges: stolidis2024 §IV-C)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["lstm", "ssm", "linear", "custom"] = "lstm"
    """The recurrent layers between the views of the samples and the head: LSTM; gated diagonal
    state space (:mod:`rlc_train.lstm.cells`); none, which ignores `layers`, `units` and
    `dropout`; what `build` makes, which ignores them too."""
    build: Annotated[str, Field(pattern=imports.PATTERN)] | None = None
    """Import path of a function that returns a cell of Keras, as ``GRUCell``, or a layer without
    state: see :mod:`rlc_train.lstm.custom`. ``network: MODULE:FUNCTION`` is short for it."""
    parameters: dict[str, Any] = {}
    """Arguments of the function."""
    layers: Annotated[int, Field(ge=1, le=4)] = 1
    units: Annotated[int, Field(ge=1, le=1024)] = 32
    dropout: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    rank: Annotated[int, Field(ge=1, le=1024)] = 24
    """Rank of the head's kernel. Its outputs span little more than twenty dimensions, and a full
    kernel dominates the time with many bearers."""

    @model_validator(mode="before")
    @classmethod
    def _is_named(cls, value: object) -> object:
        if isinstance(value, str):
            return {"kind": CUSTOM, "build": value}
        if isinstance(value, dict) and value.get("build") is not None:
            return {"kind": CUSTOM, **value}
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.kind == CUSTOM) != (self.build is not None):
            raise ValueError(f"kind {self.kind}, build {self.build}; expected both or none")
        return self


class FitSettings(BaseModel):
    """Training parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: Literal["pinball", "mse"] = "pinball"
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-3
    """Initial value; it falls to a fiftieth in half a cosine over `epochs`."""
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 20
    patience: Annotated[int, Field(ge=1)] = 5
    lanes: Annotated[int, Field(ge=1, le=4096)] = 64
    steps: Annotated[int, Field(ge=2, le=4096)] = 64
    """Samples of truncated back-propagation; the state is carried on."""
    label_stride: Annotated[int, Field(ge=1)] = 3
    """Every third sample has labels, because neighbours are similar. Coprime to the slots of TDD
    patterns, so that labels cover all slots."""
    piece_samples: Annotated[int, Field(ge=8)] = 4096
    """Longest run of samples from zero state."""
    warm_up_samples: Annotated[int, Field(ge=0)] = 256
    """Samples from zero state that are excluded, in training and in the forecaster."""
    samples_per_epoch: Annotated[int, Field(ge=1)] | None = 3_000_000
    """Most samples of an epoch, of all lanes together; each epoch takes other pieces. It bounds the
    time of a training, which would grow with the recording. Skill still grows with the samples
    there, so it is as large as twenty minutes of two shared cores allow. None for the whole
    training part."""
    validation_samples: Annotated[int, Field(ge=1)] | None = 800_000
    """Most samples that an epoch is judged on, the same after each, spread over the validation
    part. None for all of it."""
    callbacks: list[Annotated[str, Field(pattern=imports.PATTERN)]] = []
    """Import paths of callbacks of Keras, as TensorBoard's or a user's own: an instance, a class or
    a function without arguments."""
    gradient_norm: Annotated[float, Field(gt=0)] = 1.0
    xla: bool = True
    """Whether XLA compiles a batch on TensorFlow; on JAX it always does. That takes seconds at the
    start and halves the time of a batch on two cores, because most operations are small."""
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    """Precision of products and gates on a GPU; weights stay float32, float16 scales the loss. A
    CPU trains in float32 with each."""


def bytes_per_occupancy(scaler: MinMaxScaler) -> NDArray[np.float32]:
    """``(len(BYTES),)`` factors from scaled levels to spans of the occupancy.

    A factor suffices, because the scaled ranges of bytes start at 0 (:mod:`rlc_train.splits`).
    """
    factors: NDArray[np.float32] = scaler.span[list(BYTES)] / scaler.span[OCCUPANCY]
    return factors


KINDS: Final = ("lstm", "ssm", "linear", CUSTOM)
"""Kinds of networks."""
CARRIED: Final = {"lstm": ("hidden", "cell"), "ssm": ("memory",), "linear": (), CUSTOM: ()}
"""Vectors of `units` floats that a layer of each kind carries from sample to sample."""


def recurrent_layers(shape: NetworkShape) -> list[str]:
    """Names of the recurrent layers."""
    return (
        []
        if shape.kind in ("linear", CUSTOM)
        else [f"{shape.kind}_{i}" for i in range(shape.layers)]
    )


def views_state_size() -> int:
    """Floats of state of the views: slow and fast mean and deviation of each feature, earlier
    samples."""
    return 4 * len(FEATURES) + TAPS * len(TAPPED)


def head_inputs(shape: NetworkShape) -> int:
    """Inputs of the head: the last recurrent layer's output and the views of the sample."""
    return (shape.units if recurrent_layers(shape) else 0) + INPUTS


def state_size(shape: NetworkShape) -> int:
    """Floats of state per bearer of a network that is not custom: of the views, and what each
    recurrent layer carries."""
    carried = len(CARRIED[shape.kind]) * len(recurrent_layers(shape)) * shape.units
    return views_state_size() + carried
