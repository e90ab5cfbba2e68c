"""Pages and figures: both colour schemes, nothing from outside, text that is text, equal files."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markupsafe import Markup
from matplotlib.figure import Figure
from sojourn_report import (
    Column,
    Key,
    Note,
    Plot,
    Plots,
    Section,
    Table,
    markdown_table,
    page,
    plain,
    save,
)
from sojourn_report.colours import BLUE, LINES, VARIABLES


def drawn() -> Figure:
    figure = Figure(figsize=(4, 2))
    axes = figure.subplots()
    axes.plot([1, 10, 1000], [1, 2, 3])
    axes.set(xscale="log")
    plain(axes.xaxis)
    return figure


@pytest.fixture(scope="module")
def html() -> str:
    plot = Plot.of(drawn(), "Delay <p95>", [Key(BLUE, True, "with"), Key(BLUE, False, "without")])
    columns = [Column("flow"), Column("p95, ms", "number", strong=True), Column("why", "wide")]
    rows = [("a & b", "12.5", Markup("<code>{}</code>").format("<id>"))]
    table = Table(columns, rows, [("", 1), ("measured", 2)])
    blocks = [Note("Nothing <b>bold</b>.", muted=True), Plots([plot]), table]
    sections = [Section("", [Note("First.")]), Section("Flows", blocks)]
    return page("A & B", Markup("Went from <b>9</b> to 1."), sections)


def test_a_page_follows_the_colour_scheme_of_its_reader(html: str) -> None:
    style, _, body = html.partition("</style>")
    assert "prefers-color-scheme:dark" in style
    assert set(re.findall(r"var\(--(\w+)\)", html)) <= set(VARIABLES)
    assert "stroke: var(--blue)" in body
    assert not re.search("|".join(light for light, _ in VARIABLES.values()), body)


def test_a_page_needs_nothing_from_outside(html: str) -> None:
    assert html.startswith("<!doctype html>")
    assert not re.search(r"""(src|href)=["']?https?:|<script|<link""", html)


def test_text_is_text_and_markup_is_markup(html: str) -> None:
    assert "<title>A &amp; B</title>" in html
    assert '<p class="lead">Went from <b>9</b> to 1.</p>' in html
    assert "Nothing &lt;b&gt;bold&lt;/b&gt;." in html
    assert "<b>Delay &lt;p95&gt;</b>" in html
    assert "<td>a &amp; b</td>" in html
    assert '<td class="w"><code>&lt;id&gt;</code></td>' in html


def test_a_table_has_groups_heads_and_cells_of_its_columns(html: str) -> None:
    assert '<th class="n" colspan="2">measured</th>' in html
    assert '<th class="n c">p95, ms</th>' in html
    assert '<td class="n c">12.5</td>' in html
    headless = page("T", "", [Section("", [Table([Column("")], [["x"]])])])
    assert "<th" not in headless.partition("</style>")[2]


def test_a_section_without_heading_has_none(html: str) -> None:
    assert html.count("<h2>") == 1


def test_keys_show_solid_and_dashed(html: str) -> None:
    assert '<span class="s" style="color:var(--blue)">with</span>' in html
    assert '<span class="d" style="color:var(--blue)">without</span>' in html


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
def test_equal_figures_are_equal_files(tmp_path: Path, ending: str) -> None:
    one, other = tmp_path / f"one{ending}", tmp_path / f"other{ending}"
    save(drawn(), one)
    save(drawn(), other)
    assert one.read_bytes() == other.read_bytes()


def test_an_svg_has_both_colour_schemes_and_ticks_in_full(tmp_path: Path) -> None:
    save(drawn(), tmp_path / "plot.svg")
    svg = (tmp_path / "plot.svg").read_text()
    ElementTree.fromstring(svg)
    assert "prefers-color-scheme:dark" in svg
    assert ">1,000<" in svg


def test_no_two_lines_share_a_colour() -> None:
    assert len(set(LINES)) == len(LINES)
    for shades in zip(*VARIABLES.values(), strict=True):
        assert len(set(shades)) == len(VARIABLES)


def test_a_cell_does_not_end_its_row_in_markdown() -> None:
    assert markdown_table(("a", "b"), [("x|y", "1\n2")]) == [
        "| a | b |",
        "|---|---|",
        "| x\\|y | 1 2 |",
    ]
