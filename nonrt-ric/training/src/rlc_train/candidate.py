"""A model that may be promoted: its graph, and all that a manifest will say of it."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, Manifest, MinMaxScaler, Quantity
from rlc_model.manifest import BaselineMetric, ExporterCheck, Horizon, Scaler, TrainingData

from rlc_train.backtest import Losses
from rlc_train.errors import TrainError
from rlc_train.export.check import Comparison
from rlc_train.export.runner import ServedForecaster, StepRunner, Timing
from rlc_train.horizon import Layout

GRAPH: Final = "model.onnx"
TOLD: Final = "candidate.json"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An exported model.

    Attributes:
        kind: ``lstm`` or the baseline's name.
        graph: The ONNX step.
        state_size: Floats of state.
        warm_up: Steps from zero state before its forecasts count.
        scaler: Of samples.
        layout: Axes of its forecasts.
        comparison: Of the graph with the model it came from.
        timings: Of a step.
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
        """The model for a back-test, as it will be served."""
        runner = StepRunner(self.graph, self.state_size)
        return ServedForecaster(self.kind, runner, self.scaler, self.layout, tracked=True)

    def save(self, directory: Path) -> None:
        """Writes graph and description."""
        directory.mkdir(parents=True, exist_ok=True)
        layout = asdict(self.layout)
        layout["quantities"] = [q.value for q in self.layout.quantities]
        told = {
            "kind": self.kind,
            "state_size": self.state_size,
            "warm_up": self.warm_up,
            "minimum": self.scaler.minimum.tolist(),
            "span": self.scaler.span.tolist(),
            "layout": layout,
            "comparison": asdict(self.comparison),
            "timings": [asdict(timing) for timing in self.timings],
        }
        (directory / GRAPH).write_bytes(self.graph)
        (directory / TOLD).write_text(json.dumps(told, indent=2) + "\n")

    @classmethod
    def load(cls, directory: Path) -> Candidate:
        """Reads what :meth:`save` wrote.

        Raises:
            TrainError: A file is missing or damaged.
        """
        try:
            told = json.loads((directory / TOLD).read_text())
            layout = dict(told["layout"])
            layout["quantities"] = tuple(Quantity(q) for q in layout["quantities"])
            layout["quantiles"] = tuple(layout["quantiles"])
            minimum = np.array(told["minimum"], np.float32)
            return cls(
                told["kind"],
                (directory / GRAPH).read_bytes(),
                told["state_size"],
                told["warm_up"],
                MinMaxScaler(minimum, np.array(told["span"], np.float32)),
                Layout(**layout),
                Comparison(**told["comparison"]),
                [Timing(**timing) for timing in told["timings"]],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TrainError(str(directory), f"holds no candidate: {error}") from error

    def manifest(
        self,
        name: str,
        version: str,
        data: TrainingData,
        metrics: list[BaselineMetric],
        description: str,
    ) -> Manifest:
        """The manifest of the contract."""
        layout = self.layout
        maximum: NDArray[np.float64] = self.scaler.minimum.astype(np.float64) + self.scaler.span
        return Manifest(
            model_name=name,
            model_version=version,
            description=description,
            features=list(FEATURES),
            scaler=Scaler(minimum=self.scaler.minimum.tolist(), maximum=maximum.tolist()),
            quantities=list(layout.quantities),
            target="residual",
            horizon=Horizon(start_us=layout.start_us, step_us=layout.step_us, points=layout.points),
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
    """Mean pinball loss and absolute error over all points, beside each baseline's."""
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
    """Of what made the model."""
    found = {"python": platform.python_version()}
    for name in ("numpy", "onnx", "onnxruntime", "keras", "tensorflow", "tensorflow-cpu"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
