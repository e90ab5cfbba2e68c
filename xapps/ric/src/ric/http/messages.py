"""Requests and responses as a program's code has them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol, Self

from sojourn_serving import Exceeded

from ric.access import Caller


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request whose body has come."""

    method: str
    path: str
    """Percent-decoded."""
    variables: Mapping[str, str]
    """Those of the route's template."""
    query: Mapping[str, Sequence[str]]
    """The values of each name."""
    headers: Mapping[str, str]
    """Values by name in lower case; several of a name are joined by a comma (RFC 9110 §5.3)."""
    body: bytes
    caller: Caller
    cut: Callable[[], None]
    """Ends the connection at once: for a client that does not read its answer."""

    def argument(self, name: str) -> str | None:
        """The first value of a name in the query."""
        return next(iter(self.query.get(name, ())), None)


class Chunks(Protocol):
    """An answer in parts, which are sent as they come."""

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> bytes: ...

    async def aclose(self) -> None:
        """The answer is over. Called once, also when the client leaves before the first part."""
        ...


@dataclass(frozen=True, slots=True)
class Response:
    """An answer; HEAD gets it without its body."""

    status: int = HTTPStatus.OK
    body: bytes | Chunks = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def text_response(
    text: str,
    kind: str = "text/plain",
    *,
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Text of a media type, in UTF-8."""
    given = {"Content-Type": f"{kind}; charset=utf-8", **(headers or {})}
    return Response(status, text.encode(), given)


def json_response(
    document: object,
    kind: str = "application/json",
    *,
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A document as JSON."""
    return text_response(json.dumps(document), kind, status=status, headers=headers)


class HttpError(Exception):
    """An answer that says why there is no other; the server puts it into its form."""

    def __init__(
        self, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}

    def as_text(self) -> Response:
        """The detail as plain text."""
        return text_response(f"{self}\n", status=self.status, headers=self.headers)

    def as_problem(self) -> Response:
        """A ProblemDetails object (RFC 9457 §3)."""
        problem = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": str(self),
        }
        kind = "application/problem+json"
        return json_response(problem, kind, status=self.status, headers=self.headers)


def too_many_requests(exceeded: Exceeded) -> HttpError:
    """The answer to a client beyond a limit (RFC 6585 §4)."""
    # Whole seconds (RFC 9110 §10.2.3).
    headers = {"Retry-After": str(max(1, math.ceil(exceeded.retry_s)))}
    return HttpError(HTTPStatus.TOO_MANY_REQUESTS, exceeded.detail, headers)
