"""The names that HTTP servers answer to, against the vectors shared with the emulated gNB."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from ric.hosts import AllowedHosts, check_host_name
from ric.http import HttpServer, Request, Response, text_response
from ric.security import Security
from ric.settings import HttpSettings

VECTORS = Path(__file__).resolve().parents[3] / "gateway" / "access" / "vectors"
REQUESTS: list[dict[str, Any]] = yaml.safe_load((VECTORS / "hosts.yaml").read_text())


@pytest.mark.parametrize("case", REQUESTS, ids=[str(case) for case in REQUESTS])
def test_requests_are_answered_as_in_the_shared_vectors(case: dict[str, Any]) -> None:
    hosts = AllowedHosts(case["listen"], case.get("allowed", ()))
    encrypted = case.get("tls", False)
    refusal = hosts.refusal(case.get("host"), case.get("origin"), encrypted=encrypted)
    assert (refusal and refusal[0]) == case.get("status")


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_is_a_host_by_accident(host: str, origin: str) -> None:
    hosts = AllowedHosts("127.0.0.1:1", ())
    with suppress(ValueError):
        assert check_host_name(host) == host
    answered = hosts.refusal(host, origin, encrypted=False) is None
    assert not answered or "://" in origin


@pytest.mark.parametrize("name", ["", "a:80", "*.example.org", "a b", "a@b", "x" * 254])
def test_what_is_no_host_name_is_refused_by_its_place(name: str) -> None:
    with pytest.raises(ValidationError, match=r"is no host name; expected one without a port"):
        HttpSettings(allowed_hosts=("ok.example.org", name))


@pytest.mark.parametrize(
    ("method", "headers", "status", "says"),
    [
        ("GET", "Host: localhost\r\n", 200, "ok"),
        ("GET", "Host: controller.sojourn.svc:9100\r\n", 200, "ok"),
        ("GET", "Host: evil.example\r\n", 421, "Host 'evil.example' is not this server"),
        ("PUT", "Host: evil.example\r\n", 421, "or a name of allowed_hosts"),
        ("GET", "Host: localhost\r\nOrigin: http://evil.example\r\n", 403, "Origin"),
    ],
)
async def test_a_page_of_another_site_reaches_no_server(
    method: str, headers: str, status: int, says: str
) -> None:
    settings = HttpSettings(listen="127.0.0.1:0", allowed_hosts=("controller.sojourn.svc",))
    server = HttpServer(settings, Security())

    async def answer(_: Request) -> Response:
        return text_response("ok")

    server.route("GET", "/", answer, None)
    host, _, port = (await server.start()).rpartition(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"{method} / HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
        answered = (await reader.read()).decode()
        writer.close()
    finally:
        await server.stop()
    assert answered.startswith(f"HTTP/1.1 {status} ")
    assert says in answered
