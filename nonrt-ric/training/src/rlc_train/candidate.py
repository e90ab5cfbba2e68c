"""A candidate for promotion: its graph and the contents of its manifest."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np
from bounded_input import parse_json
from numpy.typing import NDArray
from rlc_model import FEATURES, Manifest, MinMaxScaler, Quantity
from rlc_model.files import replace_directory
from rlc_model.manifest import BaselineMetric, ExporterCheck, Horizon, Scaler, TrainingData

from rlc_train.backtest import Losses
from rlc_train.baselines.mix import ModelMix
from rlc_train.errors import TrainError
from rlc_train.export.check import Comparison
from rlc_train.export.runner import ServedForecaster, StepRunner, Timing
from rlc_train.horizon import Layout

GRAPH: Final = "model.onnx"
DESCRIPTION: Final = "candidate.json"
_NO_CANDIDATE: Final = (*(OSError, ValueError, KeyError, TypeError, OverflowError, TrainError),)
"""What reading a file of another shape ends in."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An exported model.

    Attributes:
        kind: ``lstm`` or the name of a baseline.
        graph: The ONNX step.
        state_size: Floats of state per bearer.
        warm_up: Steps from zero state before forecasts are valid.
        scaler: Scaler of samples.
        layout: Axes of the forecasts.
        comparison: Difference between graph and original model.
        timings: Times of a step.
    """

    kind: str
    graph: bytes
    state_size: int
    warm_up: int
    scaler: MinMaxScaler
    layout: Layout
    comparison: Comparison
    timings: list[Timing]

    def forecaster(self) -> ServedForecaster:
        """The model as served, for a back-test."""
        runner = StepRunner(self.graph, self.state_size)
        return ServedForecaster(self.kind, runner, self.scaler, self.layout, tracked=True)

    def served(self) -> ModelMix:
        """What the forecaster serves with the model, for a back-test."""
        return ModelMix(self.kind, self.forecaster().steps, self.layout, self.warm_up)

    def save(self, directory: Path) -> None:
        """Writes graph and description, both or none.

        Raises:
            TrainError: They cannot be written.
        """
        layout = asdict(self.layout)
        layout["quantities"] = [q.value for q in self.layout.quantities]
        description = {
            "kind": self.kind,
            "state_size": self.state_size,
            "warm_up": self.warm_up,
            "minimum": self.scaler.minimum.tolist(),
            "span": self.scaler.span.tolist(),
            "layout": layout,
            "comparison": asdict(self.comparison),
            "timings": [asdict(timing) for timing in self.timings],
        }
        text = json.dumps(description, indent=2) + "\n"
        try:
            replace_directory(directory, {GRAPH: self.graph, DESCRIPTION: text.encode()})
        except OSError as error:
            raise TrainError(str(directory), error.strerror or "cannot be written") from error

    @classmethod
    def load(cls, directory: Path) -> Candidate:
        """Reads what :meth:`save` wrote.

        Raises:
            TrainError: A file is missing or damaged.
        """
        try:
            description = parse_json((directory / DESCRIPTION).read_text())
            layout = dict(description["layout"])
            layout["quantities"] = tuple(Quantity(q) for q in layout["quantities"])
            layout |= {name: tuple(layout[name]) for name in ("points_us", "quantiles")}
            minimum = np.array(description["minimum"], np.float32)
            return cls(
                description["kind"],
                (directory / GRAPH).read_bytes(),
                description["state_size"],
                description["warm_up"],
                MinMaxScaler(minimum, np.array(description["span"], np.float32)),
                Layout(**layout),
                Comparison(**description["comparison"]),
                [Timing(**timing) for timing in description["timings"]],
            )
        except _NO_CANDIDATE as error:
            raise TrainError(str(directory), f"is not a candidate: {error}") from error

    def manifest(
        self,
        name: str,
        version: str,
        data: TrainingData,
        metrics: list[BaselineMetric],
        summary: str,
    ) -> Manifest:
        """The manifest of the contract."""
        layout = self.layout
        maximum: NDArray[np.float64] = self.scaler.minimum.astype(np.float64) + self.scaler.span
        return Manifest(
            model_name=name,
            model_version=version,
            description=summary,
            features=list(FEATURES),
            scaler=Scaler(minimum=self.scaler.minimum.tolist(), maximum=maximum.tolist()),
            quantities=list(layout.quantities),
            target="residual",
            horizon=Horizon(points_us=layout.points_us),
            quantiles=list(layout.quantiles),
            state_size=self.state_size,
            warm_up_steps=self.warm_up,
            training_data=data,
            metrics=metrics,
            exporter_check=ExporterCheck(
                steps=self.comparison.steps, max_abs_difference=self.comparison.forecast
            ),
            versions=versions(),
        )


def metrics_of(model: Losses, baselines: dict[str, Losses], layout: Layout) -> list[BaselineMetric]:
    """Mean pinball loss and absolute error over all points, of the model and of each baseline."""
    found = []
    for name, losses in baselines.items():
        for metric in ("pinball", "absolute"):
            for q, quantity in enumerate(layout.quantities):
                ours, theirs = (_mean(one, metric, q) for one in (model, losses))
                if np.isfinite(ours) and np.isfinite(theirs):
                    found.append(
                        BaselineMetric(
                            baseline=name,
                            metric="mae" if metric == "absolute" else metric,
                            quantity=quantity,
                            model_value=ours,
                            baseline_value=theirs,
                        )
                    )
    return found


def _mean(losses: Losses, metric: str, quantity: int) -> float:
    count = float(losses.count[:, quantity].sum())
    total: Any = getattr(losses, metric)[:, quantity].sum()
    return float(total) / count if count else float("nan")


def versions() -> dict[str, str]:
    """Versions of the libraries that made the model."""
    found = {"python": platform.python_version()}
    for name in ("numpy", "onnx", "onnxruntime", "keras", "tensorflow", "tensorflow-cpu", "jax"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
