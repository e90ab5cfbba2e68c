"""Plots of the model card, as PNG and SVG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sojourn_report import save as save_figure
from sojourn_report.colours import INK, MUTED

from rlc_train.backtest import Losses, Versus
from rlc_train.horizon import Layout
from rlc_train.lstm.shape import CARRIED


def save(figure: Figure, directory: Path, name: str) -> str:
    """Writes both formats; returns the name of the PNG."""
    for suffix in ("png", "svg"):
        save_figure(figure, directory / f"{name}.{suffix}")
    return f"{name}.png"


def skill_by_horizon(split: dict[str, Losses], layout: Layout, title: str) -> Figure:
    """Skill over persistence along the horizon, a panel per quantity."""
    figure = Figure(layout="constrained", figsize=(4.2 * len(layout.quantities), 3.6))
    panels = figure.subplots(1, len(layout.quantities), squeeze=False)[0]
    ahead_ms = np.array(layout.points_us) / 1000
    reference = split["persistence"]
    for q, (panel, quantity) in enumerate(zip(panels, layout.quantities, strict=True)):
        for name, losses in split.items():
            if "@" in name or losses.pinball.shape != reference.pinball.shape:
                continue
            skill = Versus(losses, reference).skill_by_point()[q]
            panel.plot(ahead_ms, skill, label=name, linewidth=2 if name in CARRIED else 1)
        panel.set_title(f"{quantity.value}, {title}", fontsize=9)
        panel.set_xlabel("horizon, ms")
        panel.set_ylabel("skill over persistence")
        panel.axhline(0, color=MUTED, linewidth=0.8)
        panel.set_ylim(-1, 1)
    # Outside the panels, where it hides no line.
    named = panels[0].get_legend_handles_labels()
    figure.legend(*named, loc="outside lower center", ncols=len(named[1]), fontsize=7)
    return figure


def reliability(split: dict[str, Losses], kind: str, layout: Layout, title: str) -> Figure:
    """Nominal level against the share below, with ties as bars."""
    figure = Figure(layout="constrained", figsize=(4.2, 3.8))
    panel = figure.subplots()
    losses = split[kind]
    pooled = losses.pooled().calibration(layout.levels)
    for q, quantity in enumerate(layout.quantities):
        low, high = pooled.below[q, 0], pooled.up_to[q, 0]
        middle = (low + high) / 2
        spread: NDArray[np.float64] = (high - low) / 2
        panel.errorbar(
            layout.levels, middle, spread, marker="o", capsize=3, label=quantity.value, alpha=0.8
        )
    panel.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8)
    panel.set_xlabel("quantile")
    panel.set_ylabel("share of values below it (bars: ties)")
    panel.set_title(f"{kind}, {title}", fontsize=9)
    panel.legend(fontsize=7)
    return figure


def learning_curve(curve: list[list[float]], best_epoch: int) -> Figure:
    """Losses by epoch."""
    figure = Figure(layout="constrained", figsize=(4.8, 3.2))
    panel = figure.subplots()
    epochs = np.arange(1, len(curve) + 1)
    panel.plot(epochs, [loss for loss, _ in curve], label="training")
    panel.plot(epochs, [validation for _, validation in curve], label="validation")
    panel.axvline(best_epoch + 1, color=MUTED, linewidth=0.8)
    panel.set_xlabel("epoch")
    panel.set_ylabel("pinball loss, in mean residuals")
    panel.legend(fontsize=8)
    return figure


def example(
    at_ms: NDArray[np.float64],
    actual: NDArray[np.float32],
    forecast: NDArray[np.float32],
    title: str,
    unit: str,
) -> Figure:
    """A section of a series and the forecasts for each instant: ``(T,)`` and ``(T, K)``."""
    figure = Figure(layout="constrained", figsize=(8.4, 3.0))
    panel = figure.subplots()
    panel.plot(at_ms, actual, color=INK, linewidth=1, label="actual")
    panel.fill_between(
        at_ms, forecast[:, 0], forecast[:, -1], alpha=0.3, label="outer quantiles", linewidth=0
    )
    panel.plot(at_ms, forecast[:, forecast.shape[1] // 2], linewidth=1, label="median")
    panel.set_xlabel("ms")
    panel.set_ylabel(unit)
    panel.set_title(title, fontsize=9)
    panel.legend(fontsize=7)
    return figure
