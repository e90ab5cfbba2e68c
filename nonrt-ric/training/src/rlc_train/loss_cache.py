"""Cache of back-test losses, from which an interrupted evaluation continues."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rlc_model.files import replacing

from rlc_train.backtest import LABELS, SUMS, Losses
from rlc_train.baselines.mix import model_of
from rlc_train.errors import DAMAGED, TrainError


@dataclass(frozen=True, slots=True)
class LossCache:
    """Files ``SPLIT/FORECASTER.npz`` below a directory, each with a digest of its inputs.

    Attributes:
        directory: The directory; None disables the cache.
        of: Inputs of all losses: data, split, origins, layout.
        graphs: Graphs of exported models by kind, inputs of their losses.
        sources: What the losses of estimators follow from, by name.
    """

    directory: Path | None = None
    of: dict[str, Any] = field(default_factory=dict)
    graphs: dict[str, bytes] = field(default_factory=dict)
    sources: dict[str, Any] = field(default_factory=dict)

    def get(self, split: str, name: str) -> Losses | None:
        """Cached losses; None if missing, damaged or of other inputs."""
        if self.directory is None:
            return None
        try:
            path = self._path(self.directory, split, name)
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                if str(arrays["of"]) != self._digest(name):
                    return None
                found: dict[str, Any] = {key: arrays[key] for key in SUMS}
                found |= {key: [str(each) for each in arrays[key]] for key in LABELS}
                return Losses(**found)
        except DAMAGED:
            return None

    def put(self, split: str, name: str, losses: Losses) -> None:
        """Stores losses atomically.

        Raises:
            TrainError: The file cannot be written.
        """
        if self.directory is None:
            return
        arrays: dict[str, Any] = {key: getattr(losses, key) for key in SUMS}
        arrays |= {label: np.array(getattr(losses, label)) for label in LABELS}
        arrays["of"] = np.array(self._digest(name))
        path = self._path(self.directory, split, name)
        try:
            with replacing(path) as file:
                np.savez_compressed(file, **arrays)
        except OSError as error:
            raise TrainError(str(path), error.strerror or "cannot be written") from error

    def _digest(self, name: str) -> str:
        graph = self.graphs.get(model_of(name.partition("@")[0]), b"")
        of = self.of | ({"source": self.sources[name]} if name in self.sources else {})
        inputs = json.dumps(of, sort_keys=True, default=str).encode()
        return hashlib.sha256(inputs + hashlib.sha256(graph).digest()).hexdigest()

    @staticmethod
    def _path(directory: Path, split: str, name: str) -> Path:
        return directory / split / f"{name}.npz"
