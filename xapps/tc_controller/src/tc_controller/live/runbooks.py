"""Runbooks of alerts over HTTP, at the paths that the documentation's site has for them.

`runbook_url` of an alert leads here where no other site is given. The pages are those of the
repository's `docs`, as HTML.
"""

from __future__ import annotations

import asyncio
import html
import posixpath
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from ric.http import Handler, HttpServer, Request, Response, text_response

PAGES: Final = (
    "bare-metal",
    "flexric",
    "flexric-faults",
    "limits",
    "monitor",
    "objectives",
    "operate",
    "training",
)
"""Pages beside the runbooks that these lead to; the wheel has them too (`pyproject.toml`)."""
_INDEX: Final = "README"
"""Page of a folder, `index.html` on the site."""
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_STYLE: Final = """:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 62rem; margin: 0 auto; padding: 1rem 1.2rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 1.6rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid color-mix(in srgb, currentColor 30%, transparent); padding: .3rem .6rem;
  text-align: left; vertical-align: top; }
code { overflow-wrap: anywhere; }
"""


def folder() -> Path:
    """The pages of this installation, as they lie in `docs`."""
    installed = Path(str(resources.files("tc_controller"))) / "docs"
    if installed.exists():
        return installed
    # An editable installation leaves the files where they are in the repository.
    return Path(__file__).parents[5] / "docs"


def pages() -> dict[str, Path]:
    """Every page that is served: its path below `docs`, without a suffix, and its file."""
    at = folder()
    runbooks = {f"runbooks/{file.stem}": file for file in (at / "runbooks").glob("*.md")}
    return {**{name: at / f"{name}.md" for name in PAGES}, **runbooks}


def render(name: str, text: str, known: dict[str, Path]) -> str:
    """A page as HTML. Links to pages that are not `known` and pictures are plain text."""
    markdown = Markdown(extensions=["tables", "fenced_code", "sane_lists", "toc"])
    markdown.treeprocessors.register(_Links(name, known), "links", 0)
    root = "../" * name.count("/")
    title = html.escape(posixpath.basename(name))
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        f'<link rel="stylesheet" href="{root}page.css">\n<body>\n'
        f'<p><a href="{root}runbooks/index.html">All runbooks</a> · '
        f'<a href="{root}../live/">Live page</a></p>\n{markdown.convert(text)}\n</body></html>\n'
    )


def add_routes(server: HttpServer) -> None:
    """Serve the pages below `/docs/`. They hold nothing of this deployment and need no right."""
    known = pages()
    for name, file in known.items():
        server.route("GET", f"/docs/{_site_path(name)}", _page(name, file, known), None)
    server.route("GET", "/docs/page.css", _style, None)


class _Links(Treeprocessor):  # type: ignore[misc] # Markdown has no types
    """Follows the site: `page.md#part` is `page.html#part`."""

    def __init__(self, name: str, known: dict[str, Path]) -> None:
        super().__init__()
        self._folder = posixpath.dirname(name)
        self._known = known

    def run(self, root: Element) -> None:
        for each in root.iter("img"):
            each.tag, each.text = "em", each.get("alt", "")
            each.attrib.clear()
        for each in root.iter("a"):
            target = urlsplit(each.get("href", ""))
            if target.scheme in ("http", "https") or not target.path:
                continue
            page = posixpath.normpath(posixpath.join(self._folder, target.path))
            if page.removesuffix(".md") not in self._known:
                each.tag = "span"
                each.attrib.clear()
                continue
            path = posixpath.relpath(_site_path(page.removesuffix(".md")), self._folder or ".")
            each.set("href", path + (f"#{target.fragment}" if target.fragment else ""))


def _site_path(name: str) -> str:
    at, _, base = name.rpartition("/")
    return posixpath.join(at, ("index" if base == _INDEX else base) + ".html")


def _page(name: str, file: Path, known: dict[str, Path]) -> Handler:
    async def handler(_: Request) -> Response:
        # Some ms of CPU: not on the event loop, which the controls wait for.
        page = await asyncio.to_thread(_read, name, file, known)
        return text_response(page, "text/html", headers=_HEADERS)

    return handler


def _read(name: str, file: Path, known: dict[str, Path]) -> str:
    return render(name, file.read_text(encoding="utf-8"), known)


async def _style(_: Request) -> Response:
    return text_response(_STYLE, "text/css", headers=_HEADERS)
