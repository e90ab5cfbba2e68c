"""The HTTP API of a Prometheus."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Final

from sojourn_dashboards.promql import QueryError

TIMEOUT_S: Final = 30.0


class Api:
    """Asks a Prometheus, by its address `http://HOST:PORT` or `https://HOST/PREFIX`."""

    def __init__(
        self, url: str, *, token_file: Path | None = None, ca_file: Path | None = None
    ) -> None:
        """`token_file`: its first line is sent as a bearer token; `ca_file`: authorities, PEM.

        Raises:
            QueryError: The address is none, or a file cannot be read.
        """
        self.url = url.rstrip("/")
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise QueryError(f"{url}: not an address; expected http://HOST:PORT or https://HOST")
        self._headers: dict[str, str] = {}
        try:
            if token_file is not None:
                token = token_file.read_text(encoding="ascii").partition("\n")[0].strip()
                self._headers["Authorization"] = f"Bearer {token}"
            self._context = ssl.create_default_context(cafile=ca_file)
        except (OSError, ValueError) as error:
            raise QueryError(f"{token_file or ca_file}: {error}") from error

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer.

        Raises:
            QueryError: Refused by Prometheus, or no Prometheus there.
        """
        # Queries may be longer than a server takes in an address.
        body = urllib.parse.urlencode(parameters).encode()
        post = path.startswith("query")
        address = f"{self.url}/api/v1/{path}" + ("" if post else f"?{body.decode()}")
        request = urllib.request.Request(address, body if post else None, self._headers)
        try:
            with urllib.request.urlopen(
                request, timeout=TIMEOUT_S, context=self._context
            ) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise QueryError(f"{self.url}: {_refusal(error)}") from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise QueryError(f"{self.url}: {reason}; expected a Prometheus") from error
        except (ValueError, KeyError, TypeError) as error:
            raise QueryError(f"{self.url}: answers without data; expected a Prometheus") from error


def _refusal(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code} {error.reason}; expected a Prometheus"
