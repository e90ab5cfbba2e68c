"""Comparisons as tables and plots: a summary of all situations, and a report of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.table import Table
from sojourn_report import FORMATS, markdown_table, save
from sojourn_report.colours import BLUE, GREEN, INK, MUTED, ORANGE

from tc_evaluate.axes import AXES, Axis, geometric_mean
from tc_evaluate.errors import EvaluationError
from tc_evaluate.regret import Comparison
from tc_evaluate.run import CONTROLLER, NONE

#: Arms shown beside the controller's, in the colours of the plot.
_SHOWN = {NONE: MUTED, "fq_codel": ORANGE, "low_latency": GREEN, CONTROLLER: BLUE}


def table(comparisons: Sequence[Comparison]) -> Table:
    """A row a situation; the last rows are the geometric mean and the worst."""
    shown = [arm for arm in _SHOWN if all(arm in c.results for c in comparisons)]
    made = Table(title="Power relative to the best template of each situation", box=SIMPLE_HEAD)
    made.add_column("situation", no_wrap=True)
    made.add_column("best template", no_wrap=True)
    for arm in (*shown, "Mbit/s", "p95 ms", "lost", "bloat s", "trans.", "rollb."):
        made.add_column(arm, justify="right", no_wrap=True)
    for item in comparisons:
        cells = [f"{item.relative_power[arm]:.2f}" for arm in shown]
        made.add_row(item.situation, item.best, *cells, *_figures(item))
    made.add_section()
    for label, of in (("geometric mean", geometric_mean), ("worst", min)):
        cells = [f"{of([c.relative_power[arm] for c in comparisons]):.2f}" for arm in shown]
        made.add_row(label, "", *cells, *[""] * 6)
    return made


def _figures(item: Comparison) -> list[str]:
    arm = CONTROLLER if CONTROLLER in item.results else item.best
    return [
        f"{item.mean(arm, 'goodput_mbps'):.1f}",
        f"{item.mean(arm, 'ping_p95_ms'):.1f}",
        f"{item.mean(arm, 'lost_pings'):.1f}",
        f"{item.mean(arm, 'bloat_s'):.1f}",
        f"{item.mean(arm, 'transactions'):.1f}",
        f"{item.mean(arm, 'rollbacks'):.1f}",
    ]


#: A regret up to this is none: it is what two runs of one pipeline differ by.
_NO_REGRET: Final = 1.05


def _judged(item: Comparison) -> str:
    """The arm that a situation is about: the controller, or the best template."""
    return CONTROLLER if CONTROLLER in item.results else item.best


def _value(item: Comparison, arm: str, axis: Axis) -> str:
    value = item.points[arm].get(axis.name)
    return "" if value is None else f"{value:.1f}"


def _regret(item: Comparison, arm: str) -> tuple[str, str]:
    """Factor, and the template and axis that it is about."""
    regret = item.regrets[arm]
    labels = {axis.name: axis.label for axis in AXES}
    reason = f"{regret.template}: {labels[regret.axis]}" if regret.template else ""
    return f"{regret.factor:.2f}", reason


def axes_table(comparisons: Sequence[Comparison]) -> Table:
    """The axes of the controller and its regret, a row a situation."""
    made = Table(
        title="Axes and regret of the controller, or of the best template", box=SIMPLE_HEAD
    )
    made.add_column("situation", no_wrap=True)
    for axis in AXES:
        made.add_column(axis.label, justify="right", no_wrap=True)
    for label in ("power of all", "regret"):
        made.add_column(label, justify="right", no_wrap=True)
    made.add_column("better", no_wrap=True)
    for item in comparisons:
        arm = _judged(item)
        if not arm:
            continue
        values = [_value(item, arm, axis) for axis in AXES]
        power = f"{item.relative_power_of_all[arm]:.2f}"
        made.add_row(item.situation, *values, power, *_regret(item, arm))
    made.add_section()
    judged = [item for item in comparisons if _judged(item)]
    powers = [item.relative_power_of_all[_judged(item)] for item in judged]
    factors = [item.regrets[_judged(item)].factor for item in judged]
    empty = [""] * len(AXES)
    made.add_row("geometric mean", *empty, f"{geometric_mean(powers):.2f}", "", "")
    worst = f"{max(factors, default=1.0):.2f}"
    made.add_row("worst", *empty, f"{min(powers, default=0.0):.2f}", worst, "")
    share = sum(factor <= _NO_REGRET for factor in factors) / max(len(factors), 1)
    made.add_row(f"regret up to {_NO_REGRET}", *empty, "", f"{share:.0%}", "")
    return made


def write_report(comparisons: Sequence[Comparison], folder: Path) -> None:
    """`report.md` with a table a situation, and a plot beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = ["# Situations", "", _LEGEND, ""]
    for item in comparisons:
        _plot_front(item, folder / f"{item.situation}.svg")
        parts += [f"## {item.situation}", "", *_rows(item), ""]
        parts += [f"![Axes of each arm]({item.situation}.svg)", ""]
    (folder / "report.md").write_text("\n".join(parts), encoding="utf-8")


_LEGEND: Final = (
    "Means over the seeds. A star marks the Pareto front: templates that no other betters by more "
    "than 2 % on one axis while no worse than 2 % on the others. Regret is the largest factor by "
    "which a template betters the arm in this way."
)


def _rows(item: Comparison) -> list[str]:
    """A table in Markdown, an arm a row."""
    heads = ["arm", *(axis.label for axis in item.axes), "worst bearer", "worst bulk flow"]
    heads += ["power of all", "power", "regret", "better"]
    rows = []
    for arm in item.results:
        star = " *" if arm in item.front else ""
        measures = item.results[arm][0].measures
        named = ["", ""] if measures is None else [measures.worst_bearer, measures.worst_bulk_flow]
        cells = [arm + star, *(_value(item, arm, axis) for axis in item.axes), *named]
        cells += [f"{item.relative_power_of_all[arm]:.2f}", f"{item.relative_power[arm]:.2f}"]
        rows.append([*cells, *_regret(item, arm)])
    return markdown_table(heads, rows)


def _plot_front(item: Comparison, path: Path) -> None:
    """A line an arm over the axes, each relative to the best of the templates; 1 is the best."""
    figure = Figure(figsize=(1.6 + 1.2 * len(item.axes), 3.6), layout="constrained")
    axes = figure.subplots()
    places = range(len(item.axes))
    best = {axis.name: _best(item, axis) for axis in item.axes}
    for arm, point in item.points.items():
        heights = [1.0 / axis.ratio(best[axis.name], point[axis.name]) for axis in item.axes]
        on_front = arm in item.front
        axes.plot(
            places,
            heights,
            label=arm + (" *" if on_front else ""),
            color=_SHOWN.get(arm),
            linewidth=2.5 if arm == CONTROLLER else 1.2,
            linestyle="-" if on_front or arm == CONTROLLER else ":",
            marker="o",
            markersize=4,
        )
    axes.set_xticks(places, [axis.label for axis in item.axes])
    axes.set(ylim=(0.0, 1.1), ylabel="best = 1", title=item.situation)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, path)


def _best(item: Comparison, axis: Axis) -> float:
    """The best value of the templates, or of all arms if there is none."""
    templates = [arm for arm in item.results if arm not in (CONTROLLER, NONE)]
    values = [item.points[arm][axis.name] for arm in templates or item.results]
    return max(values) if axis.higher_is_better else min(values)


def check_plot(path: Path) -> None:
    """Raise `EvaluationError` for a file that `plot` cannot write, before the runs."""
    if path.suffix not in FORMATS:
        formats = ", ".join(FORMATS)
        raise EvaluationError(f"--plot: {path}: expected a name that ends in one of {formats}")
    if not path.parent.is_dir():
        raise EvaluationError(f"--plot: {path.parent}: no such directory; expected one")


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
    axes.axvline(1.0, color=INK, linewidth=0.8)
    axes.set_yticks(rows, [item.situation for item in ordered])
    axes.set(
        xlim=(0, None),
        ylim=(-1, len(ordered)),
        xlabel="power relative to the best template of the situation",
    )
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(_SHOWN))
    save(figure, path)
