"""Polls the model directory, so that a new model is used without a restart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ric.backoff import Backoff
from rlc_model import ContractError, ModelContract, read_contract
from rlc_model.contract import CHECKSUMS, MAX_MANIFEST_BYTES, SIGNATURE, read_bounded
from rlc_model.signature import read_trusted_keys, verify_signature
from rlc_model.trial import UnfinishedTrialError

from rlc_forecaster.model_trial import ModelTrial
from rlc_forecaster.onnx_step import OnnxStep

RETRY_INITIAL_S: Final = 2.0
RETRY_MAX_S: Final = 300.0
"""Waits before a model is tried again about which nothing is known yet."""


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A new model, or why there is none.

    Attributes:
        model: The accepted one.
        problem: Why the newest is not accepted; empty if it is.
        retry_in_s: Time after which it is tried again, if `problem` says nothing about the model.
    """

    model: OnnxStep | None = None
    problem: str = ""
    retry_in_s: float | None = None


class ModelSource:
    """Compares digests and signature with those last seen: each model is loaded or refused once.

    Files that cannot be read or do not fit together may be those of a model that is being written,
    and a trial may end without a verdict. Both are repeated, with growing waits.
    """

    def __init__(
        self,
        directory: Path,
        period_us: int,
        trusted_keys: Path | None = None,
        trial: ModelTrial | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        """`trusted_keys`: PEM file of Ed25519 public keys, one of which must have signed."""
        self.directory = directory
        self._period_us = period_us
        self._trusted_keys = trusted_keys
        self._trial = trial or ModelTrial()
        self._backoff = backoff or Backoff(RETRY_INITIAL_S, RETRY_MAX_S)
        self._seen: tuple[bytes, bytes] | None = None
        self._accepted: tuple[bytes, bytes] | None = None
        self._retry_at_s: float | None = None
        self.written_at_s: float | None = None
        """Time of modification of the accepted model's digests, s since the Unix epoch."""

    def poll(self, now_s: float) -> ModelChange | None:
        """Loads the model if the directory has changed since the last poll, or again if it is due.

        Args:
            now_s: A clock that is never set back.
        """
        seen, written_at_s = self._look()
        if seen == self._accepted:
            # The same model, touched: training confirmed it, so its age restarts.
            self.written_at_s = written_at_s
        if seen != self._seen:
            self._seen, self._retry_at_s = seen, now_s
            self._backoff.reset()
        if self._retry_at_s is None or now_s < self._retry_at_s:
            return None
        try:
            contract = self._read()
        except ContractError as error:
            return self._again(str(error), now_s)
        # It may have been replaced since.
        self._seen = seen = contract.checksums, seen[1]
        try:
            model = self._trial.tried(contract, self._period_us)
        except ContractError as error:
            self._retry_at_s = None
            return ModelChange(problem=str(error))
        except UnfinishedTrialError as error:
            return self._again(str(error), now_s)
        self._retry_at_s = None
        self._accepted, self.written_at_s = seen, written_at_s
        return ModelChange(model)

    def close(self) -> None:
        """Ends a trial that runs."""
        self._trial.end()

    def _again(self, problem: str, now_s: float) -> ModelChange:
        """The change by a failure that says nothing about the model."""
        wait_s = self._backoff.next_s()
        self._retry_at_s = now_s + wait_s
        return ModelChange(problem=problem, retry_in_s=wait_s)

    def _look(self) -> tuple[tuple[bytes, bytes], float | None]:
        """Digests and signature, empty where there are none, and the former's time."""
        path = self.directory / CHECKSUMS
        try:
            digests = read_bounded(path, MAX_MANIFEST_BYTES)
            written_at_s: float | None = path.stat().st_mtime
        except (ContractError, OSError):
            digests, written_at_s = b"", None
        return (digests, self._signature()), written_at_s

    def _read(self) -> ModelContract:
        if self._trusted_keys is None:
            return read_contract(self.directory)
        keys = read_trusted_keys(self._trusted_keys)
        return read_contract(self.directory, verify_signature(self.directory, keys))

    def _signature(self) -> bytes:
        if self._trusted_keys is None:
            return b""
        try:
            return read_bounded(self.directory / SIGNATURE, MAX_MANIFEST_BYTES)
        except ContractError:
            return b""
