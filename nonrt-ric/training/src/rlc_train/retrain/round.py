"""One round of retraining: its options, and its stages in turn."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ric.settings import GatewaySettings
from rlc_dataset import Dataset, DatasetError

from rlc_train import corpus
from rlc_train.collect.session import RecordingOptions
from rlc_train.errors import TrainError
from rlc_train.judging.model import JudgedModel
from rlc_train.retrain.state import Result, RoundState, Stage, WorkDirectory
from rlc_train.series import Series
from rlc_train.settings import Settings


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a round.

    Attributes:
        data: Data set, which grows from round to round.
        model: Model directory that the forecaster reads.
        settings: Settings of the experiment.
        arguments: ``--settings`` and ``--preset`` for `rlc-train train`.
        recordings: What to record, in order; one of the cell that is held out among them.
        gateway: The E2 gateway to record from.
        always: Train without drift as well.
        sign_key: Private key, PEM.
        registry: MLflow URI; not published if empty.
    """

    data: Path
    model: Path
    settings: Settings
    arguments: argparse.Namespace
    recordings: Sequence[RecordingOptions]
    gateway: GatewaySettings
    always: bool
    sign_key: Path | None
    registry: str


StageFunction = Callable[["Round"], Result | None]


@dataclass
class Round:
    """One round.

    Attributes:
        work: The directory of all rounds.
        state: Where this one is.
        options: What it works on, and how.
        say: Called with a line for each event worth a line.
        stages: In their order. A stage that returns a result ends the round; each may be repeated
            and then continues what a killed one left.
    """

    work: WorkDirectory
    state: RoundState
    options: Options
    say: Callable[[str], None]
    stages: Mapping[Stage, StageFunction]

    def finish(self) -> Result:
        """Runs the stages that are left."""
        while self.state.result is None:
            stage, began = self.state.stage, time.monotonic()
            result = self.stages[stage](self)
            self.say(f"{stage}: took {time.monotonic() - began:.0f} s")
            names = list(self.stages)
            after = names[names.index(stage) + 1 :]
            if result is None and after:
                self.state = self.state.model_copy(update={"stage": after[0]})
            else:
                result = result or "promoted"
                self.state = self.state.model_copy(update={"result": result})
            self.work.save(self.state)
        return self.state.result

    @property
    def run(self) -> Path:
        """Run directory of the training."""
        return self.work.folder(self.state) / "run"

    @cached_property
    def series(self) -> list[Series]:
        """All series of the data set."""
        return corpus.load(self.options.data, self.options.settings.context_us)[0]

    @property
    def newest(self) -> list[Series]:
        """Those of runs that were not there when the round began."""
        known = set(self.state.known)
        return [one for one in self.series if one.name.partition("/ue=")[0] not in known]

    def served(self) -> JudgedModel | None:
        """The model that is served; None if there is none."""
        try:
            return JudgedModel.load(self.options.model)
        except TrainError as error:
            self.say(f"no model is served: {error}")
            return None


def partitions(data: Path) -> list[str]:
    """Runs of a data set; empty if there is none yet."""
    if not data.is_dir():
        return []
    try:
        return [run.provenance.partition for run in Dataset.open(data)]
    except DatasetError:
        if next(data.rglob("*.parquet"), None) is None:
            return []
        raise
