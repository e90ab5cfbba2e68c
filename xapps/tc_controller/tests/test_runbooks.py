"""The runbooks over HTTP: where alerts lead without another site of documentation."""

from __future__ import annotations

import re
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import aiohttp
import pytest
from ric.http import HttpServer
from ric.security import Security
from ric.settings import AccessSettings, HttpSettings
from tc_controller.live import runbooks

KNOWN = runbooks.pages()


@pytest.fixture
def access(tmp_path: Path) -> Path:
    file = tmp_path / "access.yaml"
    file.write_text("clients: [{name: other, certificates: [other], may: [read]}]\n")
    return file


@asynccontextmanager
async def served(access: Path) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A server whose access file has somebody else."""
    server = HttpServer(HttpSettings(listen="127.0.0.1:0"), Security(AccessSettings(file=access)))
    runbooks.add_routes(server)
    address = await server.start()
    async with aiohttp.ClientSession() as session:
        yield session, f"http://{address}"
    await server.stop()


async def test_every_page_and_every_link_of_a_runbook_is_there_for_everybody(access: Path) -> None:
    texts: dict[str, str] = {}
    async with served(access) as (session, at):

        async def page(url: str) -> str:
            if url not in texts:
                async with session.get(url) as answer:
                    assert answer.status == 200, url
                    assert "'none'" in answer.headers["Content-Security-Policy"]
                    texts[url] = await answer.text()
            return texts[url]

        followed = 0
        for name in KNOWN:
            if not name.startswith("runbooks/Sojourn"):
                continue
            url = f"{at}/docs/{name}.html"
            for link in re.findall(r'<a href="([^"]+)"', await page(url)):
                target, part = urldefrag(urljoin(url, link))
                if not target.startswith(f"{at}/docs/"):
                    continue
                text = await page(target)
                assert not part or f'id="{part}"' in text, f"{name}: {link}"
                followed += 1
    assert followed > len(KNOWN)


@pytest.mark.parametrize(
    "path", ["SojournNothing.html", "../../../pyproject.toml", "%2e%2e/secure.html", "README.html"]
)
async def test_only_known_names_are_answered(path: str, access: Path) -> None:
    async with (
        served(access) as (session, at),
        session.get(f"{at}/docs/runbooks/{path}") as answer,
    ):
        assert answer.status == 404


def test_a_link_that_leads_elsewhere_and_a_picture_are_text() -> None:
    text = (
        "[code](../../xapps/a.py) [next](B.md#c) ![A curve](../images/a.svg) [o](https://o-ran.org)"
    )
    page = runbooks.render("runbooks/A", text, {"runbooks/A": Path(), "runbooks/B": Path()})
    assert '<p><span>code</span> <a href="B.html#c">next</a> <em>A curve</em>' in page
    assert '<a href="https://o-ran.org">o</a>' in page


def test_the_wheel_has_the_pages_that_are_served() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    pages = {f"../../docs/{name}.md": f"tc_controller/docs/{name}.md" for name in runbooks.PAGES}
    assert pages.items() <= included.items()
    assert included["../../docs/runbooks"] == "tc_controller/docs/runbooks"
