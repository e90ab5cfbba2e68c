"""The committed JSON: built from the pages, and what Grafana's dashboard linter demands."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sojourn_dashboards.__main__ import write
from sojourn_dashboards.board import TAG, UID_PREFIX
from sojourn_dashboards.check import panels
from sojourn_dashboards.names import SITE
from sojourn_dashboards.promql import selectors, substituted

FOLDER = Path(__file__).parents[1] / "json"
FILES = sorted(FOLDER.glob("*.json"))
RATES = {"rate", "irate", "increase"}
TIMES = {"__rate_interval": "1m", "__interval": "15s", "__range": "1h"}
OF_RULES = {"ALERTS"}
"""Metrics that Prometheus makes of the rules, without labels of its own of job and instance."""


@pytest.fixture(params=FILES, ids=[file.stem for file in FILES])
def board(request: pytest.FixtureRequest) -> Any:
    return json.loads(request.param.read_text(encoding="utf-8"))


def values(board: Any) -> dict[str, str]:
    """A value for each variable of a dashboard."""
    return TIMES | {v["name"]: "x" for v in board["templating"]["list"]}


def targets(board: Any) -> Iterator[tuple[str, str]]:
    """Title of the panel and expression of each query."""
    for panel in panels(board["panels"]):
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def drawn(board: Any) -> list[Any]:
    """Panels with data."""
    return [p for p in panels(board["panels"]) if p["type"] not in ("row", "text")]


def test_committed_json_is_what_the_pages_say(tmp_path: Path) -> None:
    write(tmp_path)
    built = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text(encoding="utf-8") for path in FILES}
    assert built == committed, "run python -m sojourn_dashboards and commit dashboards/json"


def test_uid_follows_the_file_name_and_is_unique() -> None:
    boards = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FILES}
    assert {name: board["uid"] for name, board in boards.items()} == {
        name: UID_PREFIX + name for name in boards
    }
    assert len({board["title"] for board in boards.values()}) == len(FILES)


def test_panel_ids_and_titles_are_unique(board: Any) -> None:
    listed = list(panels(board["panels"]))
    assert max(Counter(panel["id"] for panel in listed).values()) == 1
    titles = Counter(panel["title"] for panel in listed)
    assert [title for title, count in titles.items() if count > 1] == []


def test_dashboard_is_read_only_in_utc_and_tagged(board: Any) -> None:
    assert (board["editable"], board["timezone"], board["tags"]) == (False, "utc", [TAG])
    assert board["description"]


def test_variables_follow_the_linter(board: Any) -> None:
    source, *scope = board["templating"]["list"]
    assert (source["type"], source["name"], source["label"]) == (
        "datasource", "datasource", "Data source",
    )  # fmt: skip
    everything = dict.fromkeys(SITE, ".*") | {"job": ".+", "instance": ".+"}
    for variable, (name, value) in zip(scope, everything.items(), strict=False):
        assert (variable["name"], variable["multi"], variable["allValue"]) == (name, True, value)
    for variable in scope:
        if variable["type"] == "query":
            assert variable["refresh"] == 2, "reload when the time range changes"
            assert variable["datasource"]["uid"] == "${datasource}"
        assert variable["label"]
        assert variable["description"]


def test_each_panel_has_title_description_unit_and_a_text_for_no_data(board: Any) -> None:
    for panel in drawn(board):
        defaults = panel["fieldConfig"]["defaults"]
        for what in (panel["title"], panel["description"], defaults["unit"]):
            assert what, panel["title"]
        empty = defaults["noValue"]
        # A tile shrinks its text to one line.
        assert 15 < len(empty) <= (40 if panel["type"] == "stat" else 300), panel["title"]
        assert re.search(r"[.:?] ?", empty), f"{panel['title']}: say why there is no data"
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["targets"]


def test_panels_fill_the_grid_without_overlap(board: Any) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        grid = panel["gridPos"]
        assert grid["x"] + grid["w"] <= 24, panel["title"]
        cells = {
            (grid["x"] + dx, grid["y"] + dy) for dx in range(grid["w"]) for dy in range(grid["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    for y in {y for _, y in taken}:
        width = sum(1 for x in range(24) if (x, y) in taken)
        assert width == 24, f"row {y} of the grid is {width} wide"


def test_queries_are_promql_and_select_site_job_and_instance(board: Any) -> None:
    for title, expr in targets(board):
        for selector in selectors(substituted(expr, values(board))):
            wanted = {*SITE}
            if ":" not in selector.metric and selector.metric not in OF_RULES:
                wanted |= {"job", "instance"}
            assert wanted <= selector.matchers.keys(), f"{title}: {expr}"


def test_nodes_and_slices_are_told_apart_by_site(board: Any) -> None:
    for title, expr in targets(board):
        for keyword, grouped in re.findall(r"\b(by|on) \(([^)]*)\)", expr):
            labels = set(grouped.split(", "))
            if keyword == "on" or labels & {"node", "slice"}:
                assert labels >= {*SITE}, f"{title}: {expr}"


def test_counters_are_read_as_rates(board: Any) -> None:
    for title, expr in targets(board):
        for selector in selectors(substituted(expr, values(board))):
            counter = selector.metric.endswith(("_total", "_bucket", "_count", "_sum"))
            # `queries.events` takes differences: it counts the first event of a series too.
            if counter and ":" not in selector.metric and "clamp_min" not in selector.within:
                assert RATES.intersection(selector.within), f"{title}: {expr}"


def test_rates_are_over_the_rate_interval_or_that_of_a_bar(board: Any) -> None:
    for panel in drawn(board):
        windows = {"$__rate_interval", "$__range"}
        if panel.get("interval"):
            windows.add("$__interval")
        for target in panel["targets"]:
            used = re.findall(r"\b(?:rate|irate|increase)\(.*?\[(.*?)\]", target["expr"])
            assert windows.issuperset(used), f"{panel['title']}: {target['expr']}"


def test_links_lead_to_dashboards_that_exist_and_to_their_variables() -> None:
    boards = {
        UID_PREFIX + path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FILES
    }
    for path in FILES:
        for uid, query in re.findall(r'"/d/([\w-]+)\?([^"]*)"', path.read_text(encoding="utf-8")):
            assert uid in boards, f"{path.name}: link to {uid}"
            names = values(boards[uid]).keys() - TIMES.keys() - {"datasource"}
            passed = set(re.findall(r"var-(\w+)=", query))
            assert passed <= names, f"{path.name}: {uid} has no variables {passed - names}"


def test_links_read_variables_of_their_dashboard(board: Any) -> None:
    known = values(board).keys() | {"__url_time_range"}
    for link in board["links"]:
        assert set(re.findall(r"\$\{(\w+)", link.get("url") or "")) <= known, link["title"]


def test_names_of_overrides_match_a_query_or_column(board: Any) -> None:
    for panel in drawn(board):
        letters = {target["refId"] for target in panel["targets"]}
        for override in panel["fieldConfig"]["overrides"]:
            matcher = override["matcher"]
            if matcher["id"] == "byFrameRefID":
                assert matcher["options"] in letters, panel["title"]


def test_documentation_names_every_dashboard_and_row() -> None:
    page = (FOLDER.parents[1] / "docs" / "dashboards.md").read_text(encoding="utf-8")
    for path in FILES:
        board = json.loads(path.read_text(encoding="utf-8"))
        _, name = board["title"].split(" / ")
        before, heading, after = page.partition(f"\n## {name}\n")
        assert before and heading, name
        text = after.split("\n## ")[0]
        rows = [panel["title"] for panel in board["panels"] if panel["type"] == "row"]
        assert [row for row in rows if row not in text] == [], name
