"""The live page of several controllers and sites: joined, bounded whatever one of them answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fleet_servers import http, now_us, servers, trickle
from live_cells import Cells
from tc_controller.live import fleet as fleet_module
from tc_controller.live.feed import encode
from tc_controller.live.fleet_view import (
    MAX_BYTES,
    MOST_BEARERS,
    Search,
    View,
    merged,
    own_view,
    view_of,
)
from tc_controller.settings import FleetSettings, SiteSettings


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "_SITE_S", 1.0)
    monkeypatch.setattr(fleet_module, "_KEPT_S", 0.0)


def cells(owner: str, node: str, bearers: int = 4) -> Cells:
    """A controller of one node."""
    made = Cells(1, bearers, now_us(), owner)
    made.rename("gnb-001", node)
    return made


def view(owner: str, node: str, bearers: int = 4, site: str = "") -> View:
    """What a controller says after some seconds."""
    made = cells(owner, node, bearers)
    for _ in range(5):
        made.second(made.now_us + 1_000_000)
        for _ in made.feed.sample(made.now_us):
            pass
    list(made.feed.changes())
    return own_view(made.feed, made.now_us, site, Search())


def problems(answer: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """What is wrong with each site or controller, and since when."""
    return {
        row["site"] or row["name"]: (row["problem"], row["since_us"])
        for row in answer["replicas"]
        if row["problem"] is not None
    }


async def test_one_page_shows_replicas_and_sites_and_names_those_that_do_not_answer(
    tmp_path: Path,
) -> None:
    async with servers(tmp_path) as here:
        second, stopped = await here.controller(cells("second", "gnb-2"))
        east, _ = await here.controller(cells("eastern", "gnb-1"))
        huge = http(b'{"now_us":' + b" " * MAX_BYTES + b"1}")
        addresses = {
            "east": east,
            "dead": "127.0.0.1:1",
            "slow": await here.raw(trickle(b"X-Slow: ")),
            "slow body": await here.raw(trickle(b"\r\n")),
            "garbage": await here.raw(http(b'{"now_us": 1, "replicas": 7}')),
            "huge": await here.raw(huge),
        }
        sites = [SiteSettings(name=k, **here.client(each)) for k, each in addresses.items()]
        sites.append(SiteSettings(name="strict", **here.client(east, "stranger")))
        first = cells("first", "gnb-1")
        address, _ = await here.controller(first, second, tuple(sites), "west")

        answer = await here.get(address)
        assert [each["rank"] for each in answer["bearers"]] == sorted(
            (each["rank"] for each in answer["bearers"]), reverse=True
        )
        nodes = {(each["site"], each["id"], each["replica"]) for each in answer["nodes"]}
        assert nodes == {
            ("west", "gnb-1", "first"),
            ("west", "gnb-2", "second"),
            ("east", "gnb-1", "eastern"),
        }
        found = problems(answer)
        assert found.keys() == addresses.keys() - {"east"} | {"strict"}
        assert "no controller runs there" in found["dead"][0]
        assert "no whole answer within 1 s" in found["slow"][0]
        assert "no whole answer within 1 s" in found["slow body"][0]
        assert "replicas: 7 does not fit; expected a list" in found["garbage"][0]
        assert f"more than {MAX_BYTES} bytes" in found["huge"][0]
        assert "401" in found["strict"][0]

        await stopped.stop()
        later = await here.get(address)
        assert later["nodes"], "the rest is shown"
        again = problems(later)
        assert again["dead"][1] == found["dead"][1], "since the first time"
        assert next(each["name"] for each in later["replicas"] if each["problem"]) == "second"

        sought = await here.get(address, "?find=EAST")
        assert {each["site"] for each in sought["bearers"]} == {"east"}
        sought = await here.get(address, "?find=ue%200x4602")
        assert {each["rnti"] for each in sought["bearers"]} == {"0x4602"}
        assert {each["site"] for each in sought["bearers"]} == {"west", "east"}
        alone = await here.get(address, "?scope=replica&site=home")
        assert {each["site"] for each in alone["nodes"]} == {"home"}


async def test_only_who_may_read_sees_the_others(tmp_path: Path) -> None:
    async with servers(tmp_path) as here:
        address, _ = await here.controller(cells("first", "gnb-1"))
        for name, query, status in (
            ("stranger", "", 401),
            ("reader", "?scope=world", 400),
            ("reader", f"?find={'x' * 201}", 400),
        ):
            with pytest.raises(aiohttp.ClientResponseError) as error:
                await here.get(address, query, name)
            assert error.value.status == status


async def test_many_viewers_ask_the_others_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "_KEPT_S", 60.0)
    asked = 0

    async def counted(*arguments: Any) -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.2)
        await http(encode(view("other", "gnb-7")).encode())(*arguments)

    async with servers(tmp_path) as here:
        other = await here.raw(counted)
        address, _ = await here.controller(cells("first", "gnb-1"), other)
        answers = await asyncio.gather(*(here.get(address) for _ in range(8)))
        assert asked == 1
        assert all(len(each["nodes"]) == 2 for each in answers)


def test_a_node_of_two_controllers_is_shown_as_its_owner_has_it() -> None:
    owner, standby = view("a", "gnb-1"), view("b", "gnb-1")
    standby["nodes"][0]["owned"] = False
    for views in ([owner, standby], [standby, owner]):
        joined = merged(1, views)
        assert [each["replica"] for each in joined["nodes"]] == ["a"]
        assert {each["replica"] for each in joined["bearers"]} == {"a"}
    owner["nodes"][0]["owned"], owner["nodes"][0]["gone_since_us"] = False, 1
    assert merged(1, [owner, standby])["nodes"][0]["replica"] == "b"


def test_nodes_of_one_name_at_two_sites_are_two() -> None:
    joined = merged(1, [view("a", "gnb-1", site="x"), view("a", "gnb-1", site="y")])
    assert [each["site"] for each in joined["nodes"]] == ["x", "y"]
    assert len(joined["bearers"]) == 8


def test_what_a_controller_sends_of_many_bearers_is_their_worst_and_is_read_back() -> None:
    sent = view("a", "gnb-1", 700)
    assert len(sent["bearers"]) == MOST_BEARERS
    assert (sent["bearers"][0]["values"][0] or 0) > 200, "the slowest bearer"
    body = encode(sent).encode()
    assert len(body) < MAX_BYTES / 4
    assert view_of(body, "") == json.loads(body)
    sent["bearers"].append(sent["bearers"][0])
    with pytest.raises(ValueError, match=r"bearers: .*200"):
        view_of(encode(sent).encode(), "")


def test_two_sites_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two sites of the name west"):
        FleetSettings(site="west", sites=(SiteSettings(name="west", address="127.0.0.1:1"),))
