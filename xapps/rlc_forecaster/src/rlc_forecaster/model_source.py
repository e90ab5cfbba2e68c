"""Polls the model directory, so that a new model is used without a restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rlc_model import ContractError, ModelContract, check_graph, read_contract
from rlc_model.contract import CHECKSUMS, MAX_MANIFEST_BYTES, SIGNATURE, read_bounded
from rlc_model.signature import read_trusted_keys, verify_signature

from rlc_forecaster.model_trial import run_trial
from rlc_forecaster.onnx_step import OnnxStep


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A new model, or why it was refused."""

    model: OnnxStep | None
    refused: ContractError | None


class ModelSource:
    """Compares digests and signature with those last seen: each is loaded or refused once."""

    def __init__(
        self,
        directory: Path,
        period_us: int,
        trusted_keys: Path | None = None,
        trial: Callable[[ModelContract, int], None] = run_trial,
    ) -> None:
        """`trusted_keys`: PEM file of Ed25519 public keys, one of which must have signed."""
        self.directory = directory
        self._period_us = period_us
        self._trusted_keys = trusted_keys
        self._trial = trial
        self._seen: tuple[bytes, bytes] | None = None
        self.written_at_s: float | None = None
        """Time of modification of the accepted model's digests, s since the Unix epoch."""

    def poll(self) -> ModelChange | None:
        """Loads the model if the directory has changed since the last poll."""
        path = self.directory / CHECKSUMS
        try:
            digests = read_bounded(path, MAX_MANIFEST_BYTES)
            written_at_s: float | None = path.stat().st_mtime
        except (ContractError, OSError):
            # A missing directory is refused once, like a bad model.
            digests, written_at_s = b"", None
        seen = digests, self._signature()
        if seen == self._seen:
            # The same model, touched: training confirmed it, so its age restarts.
            if digests and self.written_at_s is not None:
                self.written_at_s = written_at_s
            return None
        self._seen = seen
        try:
            model = self._load()
        except ContractError as error:
            return ModelChange(None, error)
        self.written_at_s = written_at_s
        return ModelChange(model, None)

    def _load(self) -> OnnxStep:
        if self._trusted_keys is not None:
            verify_signature(self.directory, read_trusted_keys(self._trusted_keys))
        contract = read_contract(self.directory)
        check_graph(contract.onnx)
        self._trial(contract, self._period_us)
        return OnnxStep(contract, self._period_us)

    def _signature(self) -> bytes:
        if self._trusted_keys is None:
            return b""
        try:
            return read_bounded(self.directory / SIGNATURE, MAX_MANIFEST_BYTES)
        except ContractError:
            return b""
