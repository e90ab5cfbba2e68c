"""Asks the other controllers what the live page shows of them: replicas, and other sites."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar
from urllib.parse import urlencode

from ric.http import HttpError
from ric.settings import ClientSettings

from tc_controller.live.feed import Feed, encode
from tc_controller.live.fleet_view import (
    MAX_BYTES,
    ReplicaRow,
    Search,
    View,
    merged,
    own_view,
    view_of,
)
from tc_controller.peer_client import AskError, Target, asked, body_of
from tc_controller.peers import targets_of
from tc_controller.settings import FleetSettings

T = TypeVar("T")

PATH: Final = "/live/fleet"
#: Longest wait for an answer; of a site it contains that site's own waits.
_REPLICA_S: Final = 2.0
_SITE_S: Final = 4.0
#: However many watch, the others are asked this often, and so many searches at once.
_KEPT_S: Final = 1.0
_MOST_SEARCHES: Final = 32
_THREADS: Final = 16
#: Controllers of a site that are asked one after the other.
_TRIED: Final = 3
#: A controller whose address has gone is named for this long.
_GONE_US: Final = 600_000_000


class Scope(StrEnum):
    """Whose view is asked for."""

    REPLICA = "replica"
    SITE = "site"
    ALL = "all"


@dataclass(slots=True)
class _Known:
    """A controller that was asked before."""

    name: str
    since_us: int | None = None


class Fleet:
    """The view of this controller joined with those of others.

    Args:
        feed: of this controller.
        peers: how to reach the controllers of the same nodes; this one may be among them.
        settings: the sites.
        refresh: brings the feed's document up to date.
        now_us: the controller's time.
    """

    def __init__(
        self,
        feed: Feed,
        peers: ClientSettings,
        settings: FleetSettings,
        refresh: Callable[[], Awaitable[None]],
        now_us: Callable[[], int],
    ) -> None:
        self._feed = feed
        self._peers = peers
        self._settings = settings
        self._refresh = refresh
        self._now_us = now_us
        self._threads = ThreadPoolExecutor(_THREADS, "fleet")
        #: What was asked for within the last second, with the time of it.
        self._held: dict[tuple[Scope, str, Search], tuple[float, asyncio.Task[bytes]]] = {}
        #: Controllers by address, sites by name, and "": the name of the peers.
        self._known: dict[str, _Known] = {}
        self._sites = {each.name for each in settings.sites}

    async def document(self, scope: Scope, site: str | None, search: Search) -> bytes:
        """The view as JSON, at most a second old; `site` is how the one who asks calls this site.

        Raises `HttpError` for more different searches at once than are answered.
        """
        key = scope, self._settings.site if site is None else site, search
        now_s = asyncio.get_running_loop().time()
        self._held = {
            other: (at_s, task)
            for other, (at_s, task) in self._held.items()
            if not task.done() or now_s - at_s < _KEPT_S
        }
        if key not in self._held:
            if len(self._held) >= _MOST_SEARCHES:
                text = f"{_MOST_SEARCHES} other searches are in progress; ask again in a second"
                raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, text)
            self._held[key] = now_s, asyncio.create_task(self._document(*key))
        # Others may wait for it as well.
        return await asyncio.shield(self._held[key][1])

    def close(self) -> None:
        """End what is asked."""
        for _, task in self._held.values():
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _document(self, scope: Scope, site: str, search: Search) -> bytes:
        await self._refresh()
        own = own_view(self._feed, self._now_us(), site, search)
        if scope is Scope.REPLICA:
            return encode(own).encode()
        asking = [self._replicas(site, search)]
        if scope is Scope.ALL:
            asking += [self._site(each.name, each, search) for each in self._settings.sites]
        views = [view for found in await asyncio.gather(*asking) for view in found]
        return encode(merged(own["now_us"], [own, *views])).encode()

    # -------------------------------------------------------------------- replicas

    async def _replicas(self, site: str, search: Search) -> list[View]:
        """What each other controller of this site sees, or that it does not answer."""
        address = self._peers.address
        if address is None:
            return []
        try:
            targets = await self._off_loop(lambda: list(targets_of(self._peers)))
        except AskError as error:
            return [self._silent(site, "", address, str(error))]
        self._known.pop("", None)
        asking = (self._ask(t, Scope.REPLICA, site, search, _REPLICA_S) for t in targets)
        answers = dict(zip((t.name for t in targets), await asyncio.gather(*asking), strict=True))
        views: dict[str, View] = {}
        silent = []
        for name, answer in answers.items():
            if isinstance(answer, str):
                silent.append(self._silent(site, name, name, answer))
                continue
            identity = answer["replicas"][0]["name"] if answer["replicas"] else name
            self._known[name] = _Known(identity)
            if identity != self._feed.controller.owner:
                views[identity] = answer
        here = {_host(each) for each in (*views, self._feed.controller.owner)}
        silent += self._left(site, answers.keys(), here)
        return [*views.values(), *silent]

    def _left(self, site: str, asked: Collection[str], here: Collection[str]) -> list[View]:
        """Controllers whose address is no longer one of `asked`, but for those that are back."""
        found = []
        for name, known in list(self._known.items()):
            if name in asked or name in self._sites:
                continue
            back = known.name == name or _host(known.name) in here
            if back or self._since(known) + _GONE_US < self._now_us():
                del self._known[name]
            else:
                why = f"{name} is no longer an address of {self._peers.address}"
                found.append(self._silent(site, name, known.name, why))
        return found

    # ----------------------------------------------------------------------- sites

    async def _site(self, site: str, client: ClientSettings, search: Search) -> list[View]:
        """What the first controller that answers says of its site."""
        problem = "its name has no address"
        try:
            targets = await self._off_loop(lambda: list(targets_of(client)))
            for target in targets[:_TRIED]:
                answer = await self._ask(target, Scope.SITE, site, search, _SITE_S)
                if not isinstance(answer, str):
                    self._known.pop(site, None)
                    return [answer]
                problem = answer
        except AskError as error:
            problem = str(error)
        return [self._silent(site, site, "", problem)]

    # ---------------------------------------------------------------------- asking

    async def _ask(
        self, target: Target, scope: Scope, site: str, search: Search, limit_s: float
    ) -> View | str:
        """An answer, or why there is none."""
        query = [("scope", scope.value), ("site", site), ("find", search.text)]
        query += [("state", each) for each in sorted(search.states)]
        path = f"{PATH}?{urlencode(query)}"
        try:
            return await self._off_loop(partial(_answer, target, path, site, limit_s))
        except AskError as error:
            return str(error)

    async def _off_loop(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _silent(self, site: str, key: str, name: str, problem: str) -> View:
        known = self._known.setdefault(key, _Known(name))
        row: ReplicaRow = {
            "site": site,
            "name": known.name,
            "problem": problem[:1000],
            "since_us": self._since(known),
        }
        return {"now_us": 0, "replicas": [row], "nodes": [], "bearers": []}

    def _since(self, known: _Known) -> int:
        if known.since_us is None:
            known.since_us = self._now_us()
        return known.since_us


def _answer(target: Target, path: str, site: str, limit_s: float) -> View:
    with asked(target, path, limit_s=limit_s) as answer:
        return view_of(body_of(answer, MAX_BYTES), site)


def _host(identity: str) -> str:
    """What of an identity stays over a restart."""
    return identity.partition("/")[0]
