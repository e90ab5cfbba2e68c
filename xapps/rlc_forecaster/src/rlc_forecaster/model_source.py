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

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._seen: bytes | None = None

    def look(self) -> ModelChange | None:
        """Reads the directory if it changed since the last look."""
        try:
            digests = (self.directory / CHECKSUMS).read_bytes()
        except OSError:
            # Missing is a state of its own: told once, and left when the directory appears.
            digests = b""
        if digests == self._seen:
            return None
        self._seen = digests
        try:
            return ModelChange(OnnxStep.load(self.directory), None)
        except ContractError as error:
            return ModelChange(None, error)
