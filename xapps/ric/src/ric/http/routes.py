"""Which handler answers a request, by its method and path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from ric.access import Caller, Right
from ric.http.messages import HttpError, Request, Response
from ric.terminal import printable_text

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Route:
    """The handler of a method at a path, and what a client needs there."""

    handler: Handler
    right: Right | None
    node: str

    def check(self, caller: Caller, what: str) -> None:
        """Raise the answer to a client without the right; `what` is what it asked for."""
        if self.right is None:
            return
        refusal = caller.refusal(self.right, self.node, what=what)
        if refusal is None:
            return
        unknown = refusal.status is HTTPStatus.UNAUTHORIZED
        # A 401 needs a challenge (RFC 9110 §15.5.2).
        challenge = {"WWW-Authenticate": "Bearer"} if unknown else {}
        raise HttpError(refusal.status, refusal.detail, challenge)


class Routes:
    """The routes of a server, by templates of paths: `/policies/{policyId}`."""

    def __init__(self) -> None:
        self._routes: dict[tuple[str, ...], dict[str, Route]] = {}

    def add(self, method: str, template: str, route: Route) -> None:
        """Answer `method` there, and HEAD where it answers GET."""
        methods = self._routes.setdefault(tuple(template.split("/")), {})
        methods[method] = route
        if method == "GET":
            methods["HEAD"] = route

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route of a request, and the variables in its path; raises 404 or 405."""
        parts = tuple(path.split("/"))
        asked = f"{method} {printable_text(path)}"
        for template, methods in self._routes.items():
            variables = _variables(template, parts)
            if variables is None:
                continue
            if (route := methods.get(method)) is not None:
                return route, variables
            allowed = {"Allow": ",".join(sorted(methods))}
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, f"{asked}: Method Not Allowed", allowed)
        raise HttpError(HTTPStatus.NOT_FOUND, f"{asked}: Not Found")


def _variables(template: tuple[str, ...], parts: tuple[str, ...]) -> dict[str, str] | None:
    """The parts of a path that stand for variables; `None` if it is of another template."""
    if len(template) != len(parts):
        return None
    found = {}
    for expected, part in zip(template, parts, strict=True):
        if expected.startswith("{") and part:
            found[expected[1:-1]] = part
        elif expected != part:
            return None
    return found
