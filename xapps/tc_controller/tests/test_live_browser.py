"""The live page in a real Chromium: accessibility, keyboard, lost connections, 1000 bearers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from live_cells import Cells
from ric.clock import SystemClock
from ric.endpoint_settings import AccessSettings
from ric.health import Condition
from ric.http import HttpServer
from ric.security import Security
from ric.settings import HttpSettings
from tc_controller.live.feed import encode
from tc_controller.live.server import LivePage
from tc_controller.settings import FleetSettings, PeersSettings, SiteSettings

CHROMIUM: Final = Path("/usr/bin/chromium")
#: A new profile each time, and no requests of the browser's own.
FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
#: Impacts of axe-core that fail the test.
SERIOUS: Final = ("serious", "critical")
#: Patience that a machine with much else to do needs.
PATIENCE_MS: Final = 120_000
DESK: Final = {"width": 1440, "height": 900}
PHONE: Final = {"width": 390, "height": 844}

playwright = pytest.importorskip(
    "playwright.async_api", reason="no Playwright: pip install -r requirements-dev.txt"
)
axe = pytest.importorskip("axe_playwright_python.async_playwright")
pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason=f"no {CHROMIUM}: install Debian's package chromium"
    ),
]


def now_us() -> int:
    return time.time_ns() // 1000


class Site:
    """A live page that is fed once a second, and the browser that watches it."""

    def __init__(self, cells: Cells, browser: Any) -> None:
        self.cells = cells
        self.browser = browser
        self.problems: list[str] = []
        self.requests: set[str] = set()
        self.address = "127.0.0.1:0"
        self.access = AccessSettings()

    async def start(
        self, peers: PeersSettings | None = None, fleet: FleetSettings | None = None
    ) -> None:
        """Serve, at the same address as before."""
        settings = HttpSettings(listen=self.address)
        self.server = HttpServer(settings, Security(self.access))
        self.live = LivePage(self.cells.feed, SystemClock(), now_us, 16, peers=peers, fleet=fleet)
        self.live.add_routes(self.server)
        self.address = await self.server.start()
        self.tasks = [asyncio.create_task(self.live.run()), asyncio.create_task(self._feed())]

    async def stop(self) -> None:
        """End as a controller does."""
        await self.live.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.server.stop()

    async def _feed(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.cells.second(now_us())

    def _note(self, message: Any) -> None:
        # A stream that is cut on a busy machine is an error as well, which the page mends.
        if "Content Security Policy" in message.text:
            self.problems.append(message.text)

    async def open(
        self,
        viewport: Any = DESK,
        scheme: str = "light",
        at: str = "",
        shown: str = "[data-id][role=row]",
    ) -> Any:
        """A page on which the bearers are shown, or another part."""
        context = await self.browser.new_context(viewport=viewport, color_scheme=scheme)
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self.requests.add(request.url))
        page.on("console", self._note)
        await page.goto(f"http://{self.address}/live/{at}")
        await page.wait_for_selector(shown)
        return page


@asynccontextmanager
async def site(nodes: int, bearers: int, seconds: int = 30) -> AsyncIterator[Site]:
    begin_us = now_us() - seconds * 1_000_000
    cells = Cells(nodes, bearers, begin_us)
    for second in range(1, seconds):
        cells.second(begin_us + second * 1_000_000)
        for _ in cells.feed.sample(cells.now_us):
            pass
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        served = Site(cells, browser)
        await served.start()
        try:
            yield served
        finally:
            await browser.close()
            await served.stop()


def server_cost(cells: Cells) -> dict[str, float]:
    """CPU time of the server in one second, ms, and bytes for each viewer."""
    began_s = time.process_time()
    for _ in cells.feed.sample(now_us()):
        pass
    sampled_s = time.process_time()
    *_, change = cells.feed.changes()
    changed_s = time.process_time()
    return {
        "sampleMs": round(1000 * (sampled_s - began_s), 1),
        "changesMs": round(1000 * (changed_s - sampled_s), 1),
        "bytes": len(encode(change)),
    }


async def shows(page: Any, place: str, text: str) -> None:
    """Waits until the place has the text."""
    await playwright.expect(page.locator(place)).to_have_text(text, timeout=PATIENCE_MS)


async def violations(page: Any) -> list[str]:
    """Serious and critical violations that axe-core finds."""
    found = await axe.Axe().run(page)
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html']}"
        for each in found.response["violations"]
        if each["impact"] in SERIOUS
    ]


async def test_no_serious_accessibility_violation_in_light_dark_and_on_a_phone() -> None:
    async with site(3, 60) as served:
        served.cells.silence("gnb-002")
        served.cells.disconnect("gnb-003")
        await asyncio.sleep(3)
        for viewport, scheme in ((DESK, "light"), (DESK, "dark"), (PHONE, "light")):
            page = await served.open(viewport, scheme)
            await page.wait_for_selector(".fault")
            if viewport is PHONE:
                # The bearer takes the place of the list.
                assert await violations(page) == [], (viewport, scheme)
            await page.click("[data-id][role=row]")
            await page.wait_for_selector("#bearer dl dd")
            assert await violations(page) == [], (viewport, scheme)
            width = await page.evaluate("document.documentElement.scrollWidth")
            assert width <= viewport["width"], "the page scrolls sideways"
            await page.close()
    assert served.problems == []


async def test_other_controllers_and_sites_are_on_the_page_and_are_searched() -> None:
    async with site(1, 8) as other, site(2, 8) as served:
        await other.stop()
        other.cells.rename("gnb-001", "gnb-hamburg")
        await other.start()
        await served.stop()
        east = SiteSettings(name="east", address=other.address)
        dead = SiteSettings(name="north", address="127.0.0.1:1")
        await served.start(fleet=FleetSettings(site="west", sites=(east, dead)))
        for viewport in (DESK, PHONE):
            page = await served.open(viewport, shown="#replicas .bad")
            said = await page.inner_text("#replicas .bad")
            assert said.startswith("▲ north does not answer since ")
            await page.fill("#find", "hamburg")
            await shows(page, "#count", "8 of 24 bearers")
            assert await page.locator(".canvas .place span").first.inner_text() == "east"
            assert await violations(page) == [], viewport
            await page.click("[data-id][role=row]")
            await playwright.expect(page.locator("#bearer .why")).to_contain_text(
                "Controlled by east", timeout=PATIENCE_MS
            )
            await page.close()
        assert served.problems == []


async def test_everything_comes_from_the_controller_and_names_are_text_not_markup() -> None:
    async with site(1, 3) as served:
        served.cells.rename("gnb-001", "<img src=x onerror=alert(1)>")
        page = await served.open()
        await page.wait_for_selector("#bearer dl dd")
        assert "<img src=x onerror=alert(1)>" in await page.inner_text("#bearer-title")
        await page.wait_for_timeout(1_500)
    assert served.problems == []
    assert {url.split("/")[2] for url in served.requests} == {served.address}


async def test_a_link_with_a_decimal_rnti_selects_the_bearer() -> None:
    async with site(1, 30) as served:
        page = await served.open(at=f"#gnb-001/{0x4610}/drb1")
        await playwright.expect(page.locator("#bearer-title")).to_contain_text(
            "0x4610", timeout=PATIENCE_MS
        )


async def test_keys_move_through_bearers_and_the_slider_through_seconds() -> None:
    async with site(2, 30) as served:
        page = await served.open()
        first = await page.inner_text("#bearer-title")
        await page.focus("[role=grid]")
        await page.keyboard.press("ArrowDown")
        await playwright.expect(page.locator("#bearer-title")).not_to_have_text(
            first, timeout=PATIENCE_MS
        )
        second = await page.inner_text("#bearer-title")
        await page.keyboard.press("End")
        active = await page.evaluate(
            "document.getElementById(document.querySelector('[role=grid]')"
            ".getAttribute('aria-activedescendant')).getAttribute('aria-rowindex')"
        )
        assert active == "61", "60 bearers below the heads"
        await page.keyboard.press("Home")
        await page.keyboard.press("ArrowDown")
        assert await page.inner_text("#bearer-title") == second
        await page.wait_for_selector("input[type=range][max]:not([max='0'])")
        before = await page.get_attribute("input[type=range]", "aria-valuetext")
        await page.focus("input[type=range]")
        await page.keyboard.press("Home")
        after = await page.get_attribute("input[type=range]", "aria-valuetext")
        assert "sojourn" in after
        assert after != before


async def test_states_and_search_narrow_the_list() -> None:
    async with site(2, 30) as served:
        page = await served.open()
        await page.click("button[data-state=idle]")
        await shows(page, "#count", "6 of 60 bearers")
        await page.fill("#find", "gnb-002")
        await shows(page, "#count", "3 of 60 bearers")
        await page.fill("#find", "no such bearer")
        await shows(page, "#count", "No bearer fits. Clear the search or the states.")


async def test_the_header_says_what_is_wrong_while_the_controller_is_ready() -> None:
    async with site(1, 1) as served:
        page = await served.open()
        await shows(page, "#conditions", "● gateway ok")
        lost = Condition(True, "written; 18 records lost", degraded=True)
        served.cells.conditions = {"decision_log": lost}
        await shows(page, "#conditions", "▲ decision_log: written; 18 records lost")


async def test_a_link_selects_its_bearer() -> None:
    async with site(2, 30) as served:
        page = await served.open(at="#gnb-002/0x4605/drb1")
        await page.wait_for_selector("#bearer dl dd")
        assert await page.inner_text("#bearer-title") == "UE 0x4605 DRB 1 on gnb-002"


async def test_a_controller_that_ends_and_returns() -> None:
    async with site(1, 5) as served:
        page = await served.open()
        await served.stop()
        await page.wait_for_selector("#notice:not([hidden])")
        assert "Disconnected since" in await page.inner_text("#notice")
        assert "reconnecting" in await page.inner_text("#connection")
        assert await page.locator("[data-id][role=row]").count() == 5, "the last state stays"
        await served.start()
        await page.wait_for_selector("#connection.good")
        assert await page.locator("#notice").is_hidden()


async def test_with_an_access_file_the_page_asks_for_a_token_until_one_may_read(
    tmp_path: Path,
) -> None:
    token = "0123456789abcdef" * 2
    (tmp_path / "noc.token").write_text(token)
    file = tmp_path / "access.yaml"
    file.write_text("clients: [{name: noc, token_file: noc.token, may: [read]}]")
    async with site(1, 5) as served:
        await served.stop()
        served.access = AccessSettings(file=file)
        await served.start()
        page = await served.open(shown="#access")
        await page.fill("#token", "x" * 32)
        await page.keyboard.press("Enter")
        await playwright.expect(page.locator("#refusal")).to_contain_text(
            "Refused", timeout=PATIENCE_MS
        )
        assert await violations(page) == []
        await page.fill("#token", token)
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#bearer dl dd")
        assert await page.locator("#access").is_hidden()


async def test_a_thousand_bearers_need_few_elements_and_frame_times_are_printed() -> None:
    async with site(4, 250) as served:
        page = await served.open()
        await page.wait_for_selector("#bearer dl dd")
        await page.evaluate(_MEASURE)
        await page.wait_for_timeout(5_000)
        measured = await page.evaluate("report()")
        print("1000 bearers:", json.dumps(measured | server_cost(served.cells)))
        assert measured["frames"] > 0
        assert await page.locator("[role=grid]").get_attribute("aria-rowcount") == "1001"
        assert await page.evaluate("document.querySelectorAll('*').length") < 1_500
        assert await page.locator("[data-id][role=row]").count() < 60
        await page.focus("[role=grid]")
        await page.keyboard.press("End")
        await page.wait_for_selector("[role=row][aria-rowindex='1001']")
    assert served.problems == []


#: Scrolls the list and collects times of frames and long tasks, ms.
_MEASURE: Final = """() => {
  const frames = [], tasks = [];
  new PerformanceObserver((list) => list.getEntries().forEach((each) => tasks.push(each.duration)))
    .observe({ entryTypes: ["longtask"] });
  const grid = document.querySelector("[role=grid]");
  let last = performance.now();
  const frame = (now) => {
    frames.push(now - last);
    last = now;
    grid.scrollTop += 40;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  window.report = () => {
    const sorted = [...frames].sort((one, other) => one - other);
    const at = (share) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] * 10) / 10;
    const longTasks = tasks.map(Math.round);
    return { frames: frames.length, p50: at(0.5), p95: at(0.95), max: at(1), longTasks };
  };
}"""
