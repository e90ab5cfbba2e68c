"""The directory of an experiment: what each command leaves for the next.

``settings.json`` and ``data.json`` (train), ``checkpoint.npz`` and ``curve.json`` (train),
``candidates/…`` (train, evaluate), ``judged/…`` and ``evaluation.json`` (evaluate),
``verdict.json`` and ``model/`` (promote), ``report/`` (report).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from rlc_train.backtest import Losses
from rlc_train.candidate import Candidate
from rlc_train.errors import TrainError
from rlc_train.judged import Judged
from rlc_train.settings import Settings

JUDGED: Final = "judged"


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

    def judged(self) -> Judged:
        """What was judged on the run's data, split and origins, of its candidates as they are."""
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
        return Judged(self.path / JUDGED, of, graphs)

    def forget_judged(self) -> None:
        """Everything is judged anew."""
        shutil.rmtree(self.path / JUDGED, ignore_errors=True)

    def losses(self) -> dict[str, dict[str, Losses]]:
        """The losses of the back-test, which were those of the candidates as they are now.

        Raises:
            TrainError: There was none, or it was of another model, data or split.
        """
        told, judged = self.read("evaluation.json"), self.judged()
        splits: dict[str, dict[str, Losses]] = {}
        for split, names in told.items():
            splits[split] = {}
            for name in names:
                losses = judged.get(split, name)
                if losses is None:
                    raise TrainError(
                        str(self.path / JUDGED / split / f"{name}.npz"),
                        "is not there, damaged, or of another model, data or split; run rlc-train"
                        " evaluate",
                    )
                splits[split][name] = losses
        return splits

    def _maybe(self, name: str) -> Any:
        return self.read(name) if (self.path / name).exists() else None


def _but_epochs(told: dict[str, Any]) -> dict[str, Any]:
    """Settings but for those that may change between two goes."""
    fit = {k: v for k, v in told.get("fit", {}).items() if k not in ("epochs", "patience")}
    free = ("baselines", "origins", "gate_horizons_us", "version", "fit")
    return {k: v for k, v in told.items() if k not in free} | {"fit": fit}
