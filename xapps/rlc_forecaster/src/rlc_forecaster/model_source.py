"""Polls the model directory, so that a new model is used without a restart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlc_model import ContractError
from rlc_model.contract import CHECKSUMS

from rlc_forecaster.onnx_step import OnnxStep


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A new model, or why it was refused."""

    model: OnnxStep | None
    refused: ContractError | None


class ModelSource:
    """Compares the digests with those last seen: each model is loaded or refused once."""

    def __init__(self, directory: Path, period_us: int) -> None:
        self.directory = directory
        self._period_us = period_us
        self._seen: bytes | None = None
        self.written_at_s: float | None = None
        """Time of modification of the accepted model's digests, s since the Unix epoch."""

    def poll(self) -> ModelChange | None:
        """Loads the model if the directory has changed since the last poll."""
        path = self.directory / CHECKSUMS
        try:
            digests, written_at_s = path.read_bytes(), path.stat().st_mtime
        except OSError:
            # A missing directory is refused once, like a bad model.
            digests, written_at_s = b"", None
        if digests == self._seen:
            # The same model, touched: training confirmed it, so its age restarts.
            if digests and self.written_at_s is not None:
                self.written_at_s = written_at_s
            return None
        self._seen = digests
        try:
            model = OnnxStep.load(self.directory, self._period_us)
        except ContractError as error:
            return ModelChange(None, error)
        self.written_at_s = written_at_s
        return ModelChange(model, None)
