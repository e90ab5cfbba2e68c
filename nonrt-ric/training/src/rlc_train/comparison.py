"""Runs and models side by side: what differs in their settings, cost, and loss on the same data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlc_dataset import Recording

from rlc_train.baselines.mix import FALLBACK
from rlc_train.commands.promote import best
from rlc_train.errors import TrainError
from rlc_train.export.runner import measure
from rlc_train.gate import EVERY_RADIO
from rlc_train.judging.judge import OnProgress, judge
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.row import Row
from rlc_train.judging.rows import rows_of
from rlc_train.judging.tally import Tally
from rlc_train.rundir import RunDirectory


@dataclass(frozen=True, slots=True)
class Compared:
    """A run or a model directory.

    Attributes:
        path: The directory.
        model: The model: of a run its best candidate, the network if it was not evaluated.
        settings: Settings by dotted name; of a model directory those that its manifest has.
        data_sha256: SHA-256 of the training data; empty if unknown.
        training_s: Time of the training, s; None if unknown.
        verdict: ``promoted``, ``refused``, or empty if the gate did not judge.
    """

    path: Path
    model: JudgedModel
    settings: Mapping[str, str]
    data_sha256: str
    training_s: float | None
    verdict: str

    @classmethod
    def open(cls, path: Path) -> Compared:
        """Reads a directory.

        Raises:
            TrainError: It is neither a run nor a model directory, or a file is damaged.
        """
        if (path / "settings.json").is_file():
            return cls._run(path)
        if not (path / "manifest.json").is_file():
            raise TrainError(
                str(path), "has neither settings.json (a run) nor manifest.json (a model directory)"
            )
        model = JudgedModel.load(path)
        layout = model.layout
        settings = {
            "quantities": [quantity.value for quantity in layout.quantities],
            "quantiles": list(layout.quantiles),
            "horizon": {"points_us": list(layout.points_us)},
            "context_period_ms": model.context_us // 1_000,
        }
        return cls(path, model, flat(settings), model.data_sha256, None, "")

    @classmethod
    def _run(cls, path: Path) -> Compared:
        directory = RunDirectory(path)
        settings, data = directory.settings(), directory.read("data.json")
        kinds = directory.candidates()
        if not kinds:
            raise TrainError(str(path), "has no candidate; run rlc-train train first")
        is_judged = (path / "evaluation.json").exists()
        kind = settings.kind if settings.kind in kinds else kinds[0]
        if is_judged:
            kind = best(directory.losses(), kinds)
        name = f"{settings.name}:{settings.version} ({kind})"
        model = JudgedModel.of(name, directory.candidate(kind), settings.context_us)
        seconds = None
        if kind == settings.kind and (path / "curve.json").exists():
            seconds = float(directory.read("curve.json")["seconds"])
        verdict = ""
        if (path / "verdict.json").exists():
            verdict = "promoted" if directory.read("verdict.json")["promoted"] else "refused"
        dump = flat(settings.model_dump(mode="json"))
        return cls(path, model, dump, str(data["sha256"]), seconds, verdict)

    def rows(self, recordings: Sequence[Recording], on_progress: OnProgress) -> list[Row]:
        """Results by bearer kind over all recordings; without recordings those of the run's own
        held-out series."""
        layout = self.model.layout
        if recordings:
            tallies = judge(self.model, recordings, on_progress)
            kinds = sorted({tally.bearer_kind for tally in tallies})
            of_kind = [[one for one in tallies if one.bearer_kind == kind] for kind in kinds]
            return rows_of(self.model.name, layout, [Tally.pooled(each) for each in of_kind])
        if not (self.path / "evaluation.json").exists():
            return []
        directory = RunDirectory(self.path)
        splits = directory.losses()
        split = "unseen" if "unseen" in splits else "test"
        losses = splits.get(split, {})
        kind = best(splits, directory.candidates())
        if kind not in losses or FALLBACK not in losses:
            return []
        pooled = Tally.of((split, EVERY_RADIO, "all"), losses[kind], losses[FALLBACK])
        return rows_of(self.model.name, layout, [pooled])

    def t_m_us(self) -> float:
        """Median time of a step for one bearer on this machine, now, µs."""
        return measure(self.model.runner, batches=(1,))[0].median_us

    def to_json(self, t_m_us: float, rows: Sequence[Row]) -> dict[str, Any]:
        """The model with its results as a JSON object."""
        return {
            "path": str(self.path),
            "model": self.model.name,
            "settings": dict(self.settings),
            "data_sha256": self.data_sha256,
            "size_bytes": self.model.size_bytes,
            "t_m_us": t_m_us,
            "training_s": self.training_s,
            "verdict": self.verdict,
            "rows": [asdict(row) for row in rows],
        }


def flat(settings: Mapping[str, Any], inside: str = "") -> dict[str, str]:
    """Settings by dotted name, as text."""
    found: dict[str, str] = {}
    for key, value in settings.items():
        name = f"{inside}{key}"
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        elif isinstance(value, list):
            found[name] = ", ".join(str(each) for each in value)
        else:
            found[name] = str(value)
    return found


def differing(entries: Sequence[Compared]) -> list[str]:
    """Names of the settings that are not the same in all that have them."""
    names = dict.fromkeys(name for one in entries for name in one.settings)
    return [
        name
        for name in names
        if len({one.settings[name] for one in entries if name in one.settings}) > 1
    ]
