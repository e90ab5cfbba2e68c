"""A metrics endpoint: whether it answers this client."""

from __future__ import annotations

import asyncio
import ssl
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from pathlib import Path

from ric.access import read_token
from ric.errors import SettingsError
from ric.settings import TlsSettings, is_local

from ric_doctor.facts import Endpoint


class HttpClient:
    """TLS and token towards metrics endpoints."""

    def __init__(self, tls: TlsSettings, token_file: Path | None) -> None:
        """Raises `SettingsError` for a file that cannot be used."""
        self._context = _context(tls)
        self._headers: dict[str, str] = {}
        if token_file is not None:
            token = read_token(token_file, "http.token_file").decode("ascii")
            self._headers["Authorization"] = f"Bearer {token}"

    async def reach(self, url: str, timeout_s: float) -> Endpoint:
        """What answers a request for `url`; the body is not read."""
        # A token is not sent over a network in plain text.
        headers = self._headers if url.startswith("https:") or _is_local(url) else {}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - see url_of
        return Endpoint(url, await asyncio.to_thread(_error, request, self._context, timeout_s))


def url_of(given: str) -> str:
    """`host:port` as the address of its /metrics; an http or https address as it is.

    Raises `ValueError` for another scheme.
    """
    scheme, separator, _ = given.partition("://")
    if not separator:
        return f"http://{given}/metrics"
    if scheme not in ("http", "https"):
        raise ValueError(f"{given} has the scheme {scheme}; expected http, https or host:port")
    return given


def _is_local(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    return is_local(f"[{host}]:0" if ":" in host else f"{host}:0") if host else False


def _context(tls: TlsSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.certificate_file is not None:
            context.load_cert_chain(tls.certificate_file, tls.key_file, password="")
    except OSError as error:
        raise SettingsError([f"http.tls: {error}; expected PEM files"]) from None
    return context


def _error(request: urllib.request.Request, context: ssl.SSLContext, timeout_s: float) -> str:
    try:
        with urllib.request.urlopen(  # noqa: S310 - see url_of
            request, timeout=timeout_s, context=context
        ):
            return ""
    except urllib.error.HTTPError as error:
        detail = error.read(1000).decode("utf-8", "replace").strip()
        error.close()
        return f"HTTP {error.code}" + (f": {detail}" if error.code in (401, 403, 503) else "")
    except urllib.error.URLError as error:
        return str(getattr(error.reason, "strerror", None) or error.reason)
    except (OSError, ValueError, HTTPException) as error:
        return str(error) or type(error).__name__
