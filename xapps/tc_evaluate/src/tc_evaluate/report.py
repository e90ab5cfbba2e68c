"""The regret as a table and as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.table import Table

from tc_evaluate.regret import Comparison, geometric_mean
from tc_evaluate.run import CONTROLLER, NONE

#: Arms shown beside the controller's, in the colours of the plot.
_SHOWN = {NONE: "#9aa5ad", "fq_codel": "#d5740f", "sojourn": "#2a9d63", CONTROLLER: "#0b6fa4"}


def table(comparisons: Sequence[Comparison]) -> Table:
    """A row a situation; the last rows are the geometric mean and the worst."""
    shown = [arm for arm in _SHOWN if all(arm in c.results for c in comparisons)]
    made = Table(title="Power relative to the best template of each situation", box=SIMPLE_HEAD)
    made.add_column("situation", no_wrap=True)
    made.add_column("best template", no_wrap=True)
    for arm in (*shown, "Mbit/s", "p95 ms", "bloat s", "trans.", "rollb."):
        made.add_column(arm, justify="right", no_wrap=True)
    for item in comparisons:
        cells = [f"{item.relative_power[arm]:.2f}" for arm in shown]
        made.add_row(item.situation, item.best, *cells, *_figures(item))
    made.add_section()
    for label, of in (("geometric mean", geometric_mean), ("worst", min)):
        cells = [f"{of([c.relative_power[arm] for c in comparisons]):.2f}" for arm in shown]
        made.add_row(label, "", *cells, *[""] * 5)
    return made


def _figures(item: Comparison) -> list[str]:
    arm = CONTROLLER if CONTROLLER in item.results else item.best
    return [
        f"{item.mean(arm, 'goodput_mbps'):.1f}",
        f"{item.mean(arm, 'ping_p95_ms'):.1f}",
        f"{item.mean(arm, 'bloat_s'):.1f}",
        f"{item.mean(arm, 'transactions'):.1f}",
        f"{item.mean(arm, 'rollbacks'):.1f}",
    ]


def plot(comparisons: Sequence[Comparison], path: Path) -> None:
    """A row of points a situation, sorted by the controller's; the format is the file's ending."""
    ordered = sorted(comparisons, key=lambda c: c.relative_power.get(CONTROLLER, 0.0))
    figure = Figure(figsize=(8, 1.2 + 0.24 * len(ordered)), layout="constrained")
    axes = figure.subplots()
    rows = range(len(ordered))
    for arm, colour in _SHOWN.items():
        if all(arm in item.results for item in ordered):
            powers = [item.relative_power[arm] for item in ordered]
            size = 42 if arm == CONTROLLER else 22
            axes.scatter(powers, rows, s=size, color=colour, label=arm, zorder=3)
    axes.axvline(1.0, color="#1c2530", linewidth=0.8)
    axes.set_yticks(rows, [item.situation for item in ordered])
    axes.set(
        xlim=(0, None),
        ylim=(-1, len(ordered)),
        xlabel="power relative to the best template of the situation",
    )
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(_SHOWN), frameon=False)
    # The same runs give the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "sojourn"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
