"""The worker of the site's search runs in a page that Chromium opens from disk."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

import pytest

CHROMIUM: Final = Path("/usr/bin/chromium")
SHIM: Final = Path(__file__).parents[1] / "iframe-worker.js"
PATIENCE_MS: Final = 60_000
PAGE: Final = """<!doctype html><body><script src="iframe-worker.js"></script><script>
const worker = new Worker("worker.js"), answers = [];
worker.addEventListener("message", message => answers.push(message.data));
for (const number of [1, 2]) worker.postMessage(number);
</script>"""
WORKER: Final = 'addEventListener("message", message => postMessage(10 * message.data));'

playwright: Any = pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: pip install -r requirements-dev.txt"
)


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no {CHROMIUM}: install Debian's chromium")
def test_a_worker_of_a_page_on_disk_answers_in_order(tmp_path: Path) -> None:
    shutil.copy(SHIM, tmp_path)
    (tmp_path / "worker.js").write_text(WORKER)
    (tmp_path / "page.html").write_text(PAGE)
    with playwright.sync_playwright() as made:
        browser = made.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_function("answers.length == 2", timeout=PATIENCE_MS)
        assert page.evaluate("answers") == [10, 20]
        browser.close()
