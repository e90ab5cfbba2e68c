"""The results as tables on the terminal, in the order of their labels, and the worst by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rlc_model import Quantity

from rlc_train.horizon import Layout
from rlc_train.judging.model import JudgedModel
from rlc_train.judging.row import Row
from rlc_train.judging.rows import rows_of
from rlc_train.judging.tally import Tally
from rlc_train.progress import SHORT, table_console


def show_judged(model: JudgedModel, tallies: Sequence[Tally], rows: Sequence[Row]) -> None:
    """Prints ratios by recording at the first and the last point, all kinds, and the worst."""
    console = table_console()
    layout = model.layout
    if len(tallies) > 1:
        console.print(by_recording(layout, rows))
    kinds = sorted({tally.bearer_kind for tally in tallies})
    pooled = [Tally.pooled([one for one in tallies if one.bearer_kind == kind]) for kind in kinds]
    console.print(by_kind(layout, rows_of(model.name, layout, pooled)))
    worst = max(_ends(layout, rows), key=lambda row: row.ratio or 0.0, default=None)
    if worst is not None and worst.ratio is not None:
        console.print(
            f"worst: {_name(worst.recording, worst.radio)}, {worst.bearer_kind},"
            f" {SHORT[Quantity(worst.quantity)]}, {worst.horizon_us / 1000:g} ms:"
            f" {worst.interval()} of the best simple forecaster",
            highlight=False,
        )


def by_recording(layout: Layout, rows: Sequence[Row]) -> Table:
    """A line for each recording, radio and kind of bearer, by name; a column for each end."""
    table = Table(title="pinball loss over that of the best simple forecaster (below 1 is better)")
    table.add_column("recording", overflow="fold")
    table.add_column("bearers")
    for quantity in layout.quantities:
        for horizon_us in layout.judged_us:
            table.add_column(f"{SHORT[quantity]}\n{horizon_us / 1000:g} ms", justify="right")
    by_place: dict[tuple[str, str, str], dict[tuple[str, int], Row]] = {}
    for row in rows:
        place = by_place.setdefault((row.recording, row.radio, row.bearer_kind), {})
        place[row.quantity, row.horizon_us] = row
    for at in sorted(by_place):
        cells = by_place[at]
        ends = [(q.value, horizon) for q in layout.quantities for horizon in layout.judged_us]
        table.add_row(_name(*at[:2]), at[2], *(_ratio(cells.get(end)) for end in ends))
    return table


def _name(recording: str, radio: str) -> str:
    """The recording, and the radio if the name does not say it."""
    return recording if radio in recording else f"{recording} ({radio})"


def by_kind(layout: Layout, rows: Sequence[Row]) -> Table:
    """A line for each row at the ends, by quantity, horizon and kind of bearer."""
    table = Table(title="all recordings, by kind of bearer")
    table.add_column("quantity")
    table.add_column("horizon", justify="right")
    table.add_column("bearers")
    for name in (
        "ratio (95 % interval)",
        "served ratio",
        "over persistence",
        "coverage of 80 %",
        "values",
    ):
        table.add_column(name, justify="right")
    order = [quantity.value for quantity in layout.quantities]

    def labels(row: Row) -> tuple[int, int, str]:
        return order.index(row.quantity), row.horizon_us, row.bearer_kind

    for row in sorted(_ends(layout, rows), key=labels):
        table.add_row(
            SHORT[Quantity(row.quantity)],
            f"{row.horizon_us / 1000:g} ms",
            row.bearer_kind,
            _coloured(row, row.interval()),
            _plain(row.served_ratio),
            _plain(row.adaptive_ratio),
            _coverage(row),
            str(row.samples),
        )
    return table


def _ends(layout: Layout, rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.horizon_us in layout.judged_us]


def _ratio(row: Row | None) -> str:
    return "–" if row is None or row.ratio is None else _coloured(row, f"{row.ratio:.3f}")


def _plain(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.3f}"


def _coloured(row: Row, text: str) -> str:
    """Red where the model is worse with its whole interval."""
    return f"[red]{text}[/red]" if row.ratio_low is not None and row.ratio_low > 1 else text


def _coverage(row: Row) -> str:
    if row.coverage_80 is None or row.coverage_80_strict is None:
        return "–"
    if row.coverage_80 - row.coverage_80_strict < 0.005:
        return f"{100 * row.coverage_80:.1f} %"
    return f"{100 * row.coverage_80_strict:.1f}…{100 * row.coverage_80:.1f} %"
