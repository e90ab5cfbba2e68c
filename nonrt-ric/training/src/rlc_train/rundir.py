"""The directory of an experiment: what each command leaves for the next.

``settings.json`` and ``data.json`` (train), ``checkpoint.npz`` and ``curve.json`` (train),
``candidates/…`` (train, evaluate), ``judged/…``, ``evaluation.npz`` and ``evaluation.json``
(evaluate), ``verdict.json`` and ``model/`` (promote), ``report/`` (report).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import ValidationError

from rlc_train.backtest import SUMS, Losses
from rlc_train.candidate import Candidate
from rlc_train.errors import DAMAGED, TrainError
from rlc_train.horizon import Layout
from rlc_train.judged import Judged
from rlc_train.settings import Settings

JUDGED: Final = "judged"
JUDGING: Final = ("sojourn-training", "numpy", "statsmodels", "scikit-learn", "lightgbm")
"""Packages on which losses depend."""


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """An experiment on disk."""

    path: Path

    def begin(self, settings: Settings, data: dict[str, Any]) -> None:
        """Writes what the experiment is of.

        Raises:
            TrainError: The directory holds another experiment, or cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            told = settings.model_dump(mode="json")
            old = self._maybe("settings.json")
            if old is not None and _but_epochs(old) != _but_epochs(told):
                raise TrainError(
                    str(self.path), "holds a run of other settings; expected an empty or own one"
                )
            self.write("settings.json", told)
            self.write("data.json", data)
        except OSError as error:
            raise TrainError(str(self.path), error.strerror or "cannot be written") from error

    def settings(self) -> Settings:
        """The experiment's settings."""
        try:
            return Settings.model_validate(self.read("settings.json"))
        except ValidationError as error:
            raise TrainError(str(self.path / "settings.json"), str(error)) from error

    def read(self, name: str) -> Any:
        """A JSON file.

        Raises:
            TrainError: It is missing or damaged.
        """
        try:
            return json.loads((self.path / name).read_text())
        except FileNotFoundError as error:
            raise TrainError(
                str(self.path / name), "is not there; the commands go train, evaluate, promote"
            ) from error
        except (OSError, ValueError) as error:
            raise TrainError(str(self.path / name), f"cannot be read: {error}") from error

    def write(self, name: str, told: Any) -> None:
        """A JSON file, whole or not at all."""
        part = self.path / f".{name}.part"
        part.write_text(json.dumps(told, indent=2) + "\n")
        part.replace(self.path / name)

    def candidate(self, kind: str) -> Candidate:
        """A candidate; raises :class:`TrainError` when there is none."""
        return Candidate.load(self.path / "candidates" / kind)

    def candidates(self) -> list[str]:
        """Kinds of the candidates there are."""
        return sorted(p.parent.name for p in self.path.glob("candidates/*/candidate.json"))

    def save_candidate(self, candidate: Candidate) -> None:
        """Keeps a candidate."""
        candidate.save(self.path / "candidates" / candidate.kind)

    def judged(self, data_sha256: str, layout: Layout, candidates: dict[str, Candidate]) -> Judged:
        """What was judged on this data with the run's settings, and by these libraries."""
        settings = self.settings()
        of = {
            "data": data_sha256,
            "layout": asdict(layout),
            "split": settings.split.model_dump(mode="json"),
            "context_us": settings.context_us,
            "origins": settings.origins,
            "seed": settings.seed,
            "versions": {name: _version(name) for name in JUDGING},
        }
        graphs = {kind: candidate.graph for kind, candidate in candidates.items()}
        return Judged(self.path / JUDGED, of, graphs)

    def forget_judged(self) -> None:
        """Everything is judged anew."""
        shutil.rmtree(self.path / JUDGED, ignore_errors=True)

    def save_losses(self, splits: dict[str, dict[str, Losses]]) -> None:
        """Keeps the losses of a back-test."""
        arrays: dict[str, Any] = {}
        for split, by_name in splits.items():
            for name, losses in by_name.items():
                for what in SUMS:
                    arrays[f"{split}/{name}/{what}"] = getattr(losses, what).astype(np.float64)
                arrays[f"{split}/{name}/scenario"] = np.array(losses.scenario)
        part = self.path / ".evaluation.part"
        with part.open("wb") as file:
            np.savez_compressed(file, **arrays)
        part.replace(self.path / "evaluation.npz")

    def losses(self) -> dict[str, dict[str, Losses]]:
        """The losses of the back-test.

        Raises:
            TrainError: There was none, or the file is damaged.
        """
        path = self.path / "evaluation.npz"
        splits: dict[str, dict[str, Losses]] = {}
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                keys = sorted({name.rpartition("/")[0] for name in arrays.files})
                for key in keys:
                    split, _, name = key.partition("/")
                    splits.setdefault(split, {})[name] = Losses(
                        **{what: arrays[f"{key}/{what}"] for what in SUMS},
                        scenario=[str(s) for s in arrays[f"{key}/scenario"]],
                    )
        except FileNotFoundError as error:
            raise TrainError(str(path), "is not there; run rlc-train evaluate first") from error
        except DAMAGED as error:
            raise TrainError(str(path), f"cannot be read: {error}") from error
        return splits

    def _maybe(self, name: str) -> Any:
        return self.read(name) if (self.path / name).exists() else None


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _but_epochs(told: dict[str, Any]) -> dict[str, Any]:
    """Settings but for those that may change between two goes."""
    fit = {k: v for k, v in told.get("fit", {}).items() if k not in ("epochs", "patience")}
    free = ("baselines", "origins", "gate_horizons_us", "version", "fit")
    return {k: v for k, v in told.items() if k not in free} | {"fit": fit}
