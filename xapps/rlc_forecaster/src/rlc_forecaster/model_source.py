"""The model directory, looked at again and again: a new model without a restart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlc_model import ContractError
from rlc_model.contract import CHECKSUMS

from rlc_forecaster.onnx_step import OnnxStep


@dataclass(frozen=True, slots=True)
class ModelChange:
    """What looking at the directory found: a model to go over to, or why not."""

    model: OnnxStep | None
    refused: ContractError | None


class ModelSource:
    """Remembers the digests last seen, so that a model is loaded once, and refused once."""

    def __init__(self, directory: Path, period_us: int) -> None:
        self.directory = directory
        self._period_us = period_us
        self._seen: bytes | None = None
        self.written_at_s: float | None = None
        """When the digests of the model last accepted were written, s since the Unix epoch."""

    def look(self) -> ModelChange | None:
        """Reads the directory if it changed since the last look."""
        path = self.directory / CHECKSUMS
        try:
            digests, written_at_s = path.read_bytes(), path.stat().st_mtime
        except OSError:
            # Missing is a state of its own: told once, and left when the directory appears.
            digests, written_at_s = b"", None
        if digests == self._seen:
            # Written anew, the same: whoever trains found that this model is still the best.
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
