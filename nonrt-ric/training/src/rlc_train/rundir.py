"""The directory of an experiment, with the files that the commands exchange.

``settings.json`` and ``data.json`` (train), ``checkpoint.npz`` and ``curve.json`` (train),
``candidates/…`` (train, evaluate), ``losses/…``, ``estimators.json`` and ``evaluation.json``
(evaluate),
``verdict.json`` and ``model/`` (promote), ``report/`` (report).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bounded_input import parse_json
from pydantic import ValidationError

from rlc_train.backtest import Losses
from rlc_train.candidate import Candidate
from rlc_train.errors import TrainError, write_text
from rlc_train.loss_cache import LossCache
from rlc_train.settings import Settings

LOSSES: Final = "losses"
ESTIMATORS: Final = "estimators.json"
"""What the losses of estimators follow from."""


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """An experiment on disk."""

    path: Path

    def begin(self, settings: Settings, data: dict[str, Any]) -> None:
        """Writes settings and data of the experiment.

        Raises:
            TrainError: The directory has another experiment, or cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            new = settings.model_dump(mode="json")
            old = self._read_if_present("settings.json")
            if old is not None and _comparable(old) != _comparable(new):
                raise TrainError(
                    str(self.path),
                    "has a run with other settings; expected an empty directory or a run of these",
                )
            self.write("settings.json", new)
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
            return parse_json((self.path / name).read_text())
        except FileNotFoundError as error:
            raise TrainError(
                str(self.path / name),
                "is missing; run the commands in the order train, evaluate, promote",
            ) from error
        except (OSError, ValueError) as error:
            raise TrainError(str(self.path / name), f"cannot be read: {error}") from error

    def write(self, name: str, document: Any) -> None:
        """Writes a JSON file atomically; raises as :func:`rlc_train.errors.write_text`."""
        write_text(self.path / name, json.dumps(document, indent=2) + "\n")

    def candidate(self, kind: str) -> Candidate:
        """A candidate; raises :class:`TrainError` if there is none."""
        return Candidate.load(self.path / "candidates" / kind)

    def candidates(self) -> list[str]:
        """Kinds of the candidates."""
        return sorted(p.parent.name for p in self.path.glob("candidates/*/candidate.json"))

    def save_candidate(self, candidate: Candidate) -> None:
        """Writes a candidate."""
        candidate.save(self.path / "candidates" / candidate.kind)

    def loss_cache(self) -> LossCache:
        """Losses on the run's data, split and origins, of its current candidates."""
        settings, data = self.settings(), self.read("data.json")
        of = {
            "data": data["sha256"],
            "layout": asdict(settings.layout(data["t_m_us"])),
            "split": settings.split.model_dump(mode="json"),
            "context_us": settings.context_us,
            "origins": settings.origins,
            "seed": settings.seed,
        }
        graphs = {kind: self.candidate(kind).graph for kind in self.candidates()}
        sources = self._read_if_present(ESTIMATORS) or {}
        return LossCache(self.path / LOSSES, of, graphs, sources)

    def discard_losses(self) -> None:
        """Removes all losses, so that everything is evaluated again."""
        shutil.rmtree(self.path / LOSSES, ignore_errors=True)

    def losses(self) -> dict[str, dict[str, Losses]]:
        """The losses of the last evaluation.

        Raises:
            TrainError: A loss is missing, or is of another model, data or split.
        """
        evaluation, cache = self.read("evaluation.json"), self.loss_cache()
        splits: dict[str, dict[str, Losses]] = {}
        for split, names in evaluation.items():
            splits[split] = {}
            for name in names:
                losses = cache.get(split, name)
                if losses is None:
                    raise TrainError(
                        str(self.path / LOSSES / split / f"{name}.npz"),
                        "is missing, damaged, or of another model, data or split; run rlc-train"
                        " evaluate",
                    )
                splits[split][name] = losses
        return splits

    def _read_if_present(self, name: str) -> Any:
        return self.read(name) if (self.path / name).exists() else None


def _comparable(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings except those that may change when a run continues."""
    fit = {k: v for k, v in settings.get("fit", {}).items() if k not in ("epochs", "patience")}
    free = (
        "baselines",
        "estimators",
        "origins",
        "gate_horizons_us",
        "gate_each_radio",
        "version",
        "fit",
    )
    return {k: v for k, v in settings.items() if k not in free} | {"fit": fit}
