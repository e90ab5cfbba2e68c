"""Losses of a back-test kept as soon as they are known, so that one that was killed goes on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rlc_train.backtest import SUMS, Losses
from rlc_train.errors import DAMAGED, TrainError


@dataclass(frozen=True, slots=True)
class Judged:
    """``SPLIT/FORECASTER.npz`` below a directory, each with what it is of.

    Attributes:
        directory: Where; None keeps nothing.
        of: What all losses depend on: data, split, origins, layout.
        graphs: What those of an exported model depend on as well, by its kind.
    """

    directory: Path | None = None
    of: dict[str, Any] = field(default_factory=dict)
    graphs: dict[str, bytes] = field(default_factory=dict)

    def get(self, split: str, name: str) -> Losses | None:
        """Losses that were kept; None where there are none, or of something else, or damaged."""
        if self.directory is None:
            return None
        try:
            path = self._path(self.directory, split, name)
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                if str(arrays["of"]) != self._digest(name):
                    return None
                sums = {what: arrays[what] for what in SUMS}
                return Losses(**sums, scenario=[str(s) for s in arrays["scenario"]])
        except DAMAGED:
            return None

    def keep(self, split: str, name: str, losses: Losses) -> None:
        """Keeps them, whole or not at all.

        Raises:
            TrainError: They cannot be written.
        """
        if self.directory is None:
            return
        arrays: dict[str, Any] = {what: getattr(losses, what) for what in SUMS}
        arrays |= {"scenario": np.array(losses.scenario), "of": np.array(self._digest(name))}
        path = self._path(self.directory, split, name)
        part = path.with_name(f".{name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                np.savez_compressed(file, **arrays)
            part.replace(path)
        except OSError as error:
            raise TrainError(str(path), error.strerror or "cannot be written") from error

    def _digest(self, name: str) -> str:
        graph = self.graphs.get(name.partition("@")[0], b"")
        told = json.dumps(self.of, sort_keys=True, default=str).encode()
        return hashlib.sha256(told + hashlib.sha256(graph).digest()).hexdigest()

    @staticmethod
    def _path(directory: Path, split: str, name: str) -> Path:
        return directory / split / f"{name}.npz"
