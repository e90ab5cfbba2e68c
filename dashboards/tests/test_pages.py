"""Pages: a mistake in one is refused with its place; names stand for something and are used."""

from __future__ import annotations

from pathlib import Path

import pytest
from sojourn_dashboards.names import NAMES, PAGES
from sojourn_dashboards.read import PageError, read_page

PAGE = """
title: Cell
about: One gNB.
let: {here: node="x", all: '<here>, drb=~".*"'}
drill: {}
rows:
- title: Now
  empty: <no_rules>
  tiles:
  - {title: Fault, queries: "max(up{<all>})", about: Fault., steps: none_is_good}
  panels:
  - {title: Delay, queries: {expr: up, colour: teal}, about: Delay., size: [24, 8]}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cell.yaml"


def test_names_stand_for_texts_thresholds_and_colours(path: Path) -> None:
    path.write_text(PAGE)
    row = read_page(path).rows[0]
    (tile, tile_size), (panel, panel_size) = row.sized()
    assert tile.queries[0].expr == 'max(up{node="x", drb=~".*"})'
    assert tile.steps == [(None, NAMES["colours"]["good"]), (1, NAMES["colours"]["bad"])]
    assert tile.empty == panel.empty == NAMES["texts"]["no_rules"]
    assert panel.queries[0].colour == NAMES["colours"]["teal"]
    assert (tile_size, panel_size) == ((4, 4), (24, 8))


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("about: Fault.", "abuot: Fault.", r"rows\.0\.tiles\.0\.abuot\s+Extra inputs"),
        ("steps: none_is_good", "steps: none_is_god", "none_is_god.*expected one of steady"),
        ("colour: teal", "colour: tael", "tael.*expected one of good"),
        ("size: [24, 8]", "size: [24]", r"rows\.0\.panels\.0\.size"),
        ("size: [24, 8]", "kind: pie", r"rows\.0\.panels\.0\.kind.*\s.*'lines'"),
        ("<no_rules>", "<no_rule>", "<no_rule>: expected one of .*no_rules"),
        ("- title: Now", "- include: processes", "processes.yaml"),
        ("title: Cell", "title: : Cell", "line 2"),
    ],
)
def test_a_mistake_is_refused_with_its_place(path: Path, good: str, bad: str, message: str) -> None:
    path.write_text(PAGE.replace(good, bad, 1))
    with pytest.raises(PageError, match=message) as raised:
        read_page(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("kind", ["steps", "words", "texts"])
def test_every_shared_name_is_used(kind: str) -> None:
    read = "".join(path.read_text(encoding="utf-8") for path in sorted(PAGES.rglob("*.yaml")))
    uses = "<{}>" if kind == "texts" else ": {}"
    unused = {name for name in NAMES[kind] if uses.format(name) not in read}
    assert unused == set(), "of names.yaml"
