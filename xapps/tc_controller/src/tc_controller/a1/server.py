"""The A1-P server: policy types, instances, status, notifications (O-RAN.WG2.TS.A1AP)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Any, Final, NoReturn

import structlog
from aiohttp import ClientError, ClientSession, ClientTimeout
from bounded_input import JsonError, parse_json
from ric.access import ALL_NODES, Right
from ric.backoff import Backoff
from ric.certificates import Trust
from ric.clock import Clock
from ric.http import (
    Handler,
    HttpError,
    HttpServer,
    Request,
    Response,
    json_response,
    too_many_requests,
)
from ric.security import Security
from sojourn_serving import Rate
from yarl import URL

from tc_controller.a1.compile import Status, statuses
from tc_controller.a1.openapi import POLICY_ID, ROOT, openapi, policy_type
from tc_controller.a1.store import MAX_INSTANCES, Instance, InstanceStore, StatementError, instance
from tc_controller.a1.types import TYPES
from tc_controller.core.controller import Controller
from tc_controller.core.policy.targets import TargetedPolicy
from tc_controller.settings import A1Settings

_MAX_DESTINATION: Final = 2000
_PERIOD_S: Final = 1.0
_LONGEST_S: Final = 60.0
_TIMEOUT: Final = ClientTimeout(total=2.0)
_AT_ONCE: Final = 16
CHANGES: Final = Rate("a1_changes", per_s=20, burst=200, what="policy changes")
"""Rate of one client: each change compiles the policies of all bearers anew."""
_log = structlog.get_logger()


class A1Server:
    """Serves the instances of a store.

    ``apply`` puts the instances of the store into force. A client needs `read` for GET and
    `control` for the rest, on all nodes: a policy applies to each bearer of its scope.

    Raises `SettingsError` for CA certificates of notifications that cannot be used.
    """

    def __init__(
        self,
        store: InstanceStore,
        controller: Controller,
        apply: Callable[[], None],
        clock: Clock,
        *,
        settings: A1Settings,
        security: Security,
    ) -> None:
        self._store = store
        self._notify_hosts = settings.notify_hosts
        self._notify_trust = None
        if settings.notify_ca_file is not None:
            self._notify_trust = Trust("a1.notify_ca_file", settings.notify_ca_file)
        self._server = HttpServer(settings, security, problems=True)
        self._controller = controller
        self._apply = apply
        self._clock = clock
        self._changing = asyncio.Lock()
        #: Statuses that were reported; without an entry the next one is.
        self._notified: dict[str, Status] = {}
        #: Delays, and the monotonic time of the next post, of each instance whose destination did
        #: not take the last notification.
        self._refused: dict[str, tuple[Backoff, int]] = {}
        of_type = f"{ROOT}/policytypes/{{policyTypeId}}"
        policy = f"{of_type}/policies/{{policyId}}"
        for template, read in (
            (f"{ROOT}/openapi.json", self._openapi),
            (f"{ROOT}/policytypes", self._types),
            (of_type, self._type),
            (f"{of_type}/policies", self._policies),
            (policy, self._get),
            (f"{policy}/status", self._status),
        ):
            self._server.route("GET", template, read, Right.READ)
        for method, change in (("PUT", self._put), ("DELETE", self._delete)):
            handler = self._changing_policies(change)
            self._server.route(method, policy, handler, Right.CONTROL, node=ALL_NODES)

    async def start(self) -> str:
        """Listen; returns the address with the port in use.

        Raises `SettingsError` for an unusable certificate, `OSError` for the address.
        """
        return await self._server.start()

    async def stop(self) -> None:
        """Stop listening."""
        await self._server.stop()

    def statuses(self) -> dict[str, Status]:
        """How each instance is enforced now."""
        policy = self._controller.policy
        if not isinstance(policy, TargetedPolicy):
            return {}
        return statuses(self._store.results, self._controller, policy)

    # -------------------------------------------------------------------- requests

    def _changing_policies(self, change: Handler) -> Handler:
        """A handler of changes, within their rate, with a line of the audit log for each."""

        async def changed(request: Request) -> Response:
            caller = request.caller
            if (exceeded := caller.account.take(CHANGES)) is not None:
                raise too_many_requests(exceeded)
            outcome = "rejected: 500"
            try:
                response = await _kept(change(request))
                outcome = "accepted"
            except HttpError as error:
                outcome = f"rejected: {error.status}"
                raise
            finally:
                action = f"a1_{request.method.lower()}"
                caller.audit(action, outcome, what=request.path)
            return response

        return changed

    async def _openapi(self, _: Request) -> Response:
        return json_response(openapi())

    async def _types(self, _: Request) -> Response:
        return json_response(list(TYPES))

    async def _type(self, request: Request) -> Response:
        return json_response(policy_type(_type_id(request)))

    async def _policies(self, request: Request) -> Response:
        type_id = _type_id(request)
        every = self._store.instances.items()
        return json_response([name for name, each in every if each.type_id == type_id])

    async def _get(self, request: Request) -> Response:
        return json_response(self._store.instances[self._known(request)].body)

    async def _status(self, request: Request) -> Response:
        return json_response(self.statuses()[self._known(request)].document())

    async def _put(self, request: Request) -> Response:
        type_id, policy_id = _type_id(request), request.variables["policyId"]
        if not re.fullmatch(POLICY_ID, policy_id):
            raise HttpError(HTTPStatus.BAD_REQUEST, f"policyId: expected {POLICY_ID}")
        destination = self._destination(request)
        try:
            new = instance(type_id, _json(request.body), destination)
        except StatementError as error:
            raise HttpError(HTTPStatus.BAD_REQUEST, str(error)) from None
        async with self._changing:
            old = self._store.instances.get(policy_id)
            if old is not None and old.type_id != type_id:
                raise HttpError(HTTPStatus.CONFLICT, f"policyId: it is a policy of {old.type_id}")
            if old is None and len(self._store.instances) >= MAX_INSTANCES:
                raise HttpError(
                    HTTPStatus.CONFLICT, f"there are {MAX_INSTANCES} policies, the limit"
                )
            await self._store.replace(policy_id, new)
            self._apply()
            self._notified[policy_id] = self.statuses()[policy_id]
            self._refused.pop(policy_id, None)
        headers = {} if old else {"Location": request.path}
        return json_response(
            new.body, status=HTTPStatus.OK if old else HTTPStatus.CREATED, headers=headers
        )

    async def _delete(self, request: Request) -> Response:
        async with self._changing:
            policy_id = self._known(request)
            await self._store.replace(policy_id, None)
            self._notified.pop(policy_id, None)
            self._refused.pop(policy_id, None)
            self._apply()
        return Response(HTTPStatus.NO_CONTENT)

    def _destination(self, request: Request) -> str | None:
        text = request.argument("notificationDestination")
        if text is None:
            return None
        expected = "notificationDestination: expected an absolute http or https URI"
        try:
            url = URL(text)
        except ValueError:
            raise HttpError(HTTPStatus.BAD_REQUEST, expected) from None
        if len(text) > _MAX_DESTINATION or url.scheme not in ("http", "https") or not url.host:
            raise HttpError(HTTPStatus.BAD_REQUEST, expected)
        if not self._may_notify(url):
            request.caller.audit(
                "refused",
                "refused: host not in a1.notify_hosts",
                what=f"notification to {url.host}",
                limited=True,
            )
            raise HttpError(
                HTTPStatus.FORBIDDEN,
                f"notificationDestination: host {url.host} is not in a1.notify_hosts",
            )
        return text

    def _may_notify(self, url: URL) -> bool:
        host = (url.host or "").lower()
        return any(fnmatchcase(host, allowed.lower()) for allowed in self._notify_hosts)

    def _known(self, request: Request) -> str:
        type_id, policy_id = _type_id(request), request.variables["policyId"]
        found = self._store.instances.get(policy_id)
        if found is None or found.type_id != type_id:
            raise HttpError(HTTPStatus.NOT_FOUND, f"policyId: {type_id} has no such policy")
        return policy_id

    # --------------------------------------------------------------- notifications

    async def notify(self) -> None:
        """Post each change of a status to the destination of its instance, until cancelled.

        A status that could not be delivered is posted again, as it is then, after a `Backoff`.
        """
        async with ClientSession(timeout=_TIMEOUT) as session:
            at_once = asyncio.Semaphore(_AT_ONCE)
            while True:
                await self._clock.sleep(_PERIOD_S)
                wanted = [name for name, each in self._store.instances.items() if each.notify]
                if not wanted:
                    continue
                if self._notify_trust is not None:
                    self._notify_trust.check()
                now = self.statuses()
                await asyncio.gather(
                    *(
                        self._post(session, at_once, name, now[name])
                        for name in wanted
                        if name in now and self._due(name, now[name])
                    )
                )

    def _due(self, name: str, status: Status) -> bool:
        if self._notified.get(name) == status:
            return False
        waits = self._refused.get(name)
        return waits is None or self._clock.monotonic_ns() >= waits[1]

    def _not_taken(self, name: str, found: Instance) -> None:
        if self._store.instances.get(name) is found:
            waits = self._refused.get(name)
            backoff = Backoff(_PERIOD_S, _LONGEST_S) if waits is None else waits[0]
            at_ns = self._clock.monotonic_ns() + int(backoff.next_s() * 1e9)
            self._refused[name] = backoff, at_ns

    async def _post(
        self, session: ClientSession, at_once: asyncio.Semaphore, name: str, status: Status
    ) -> None:
        found = self._store.instances.get(name)
        if found is None or found.notify is None:
            return
        if not self._may_notify(URL(found.notify)):
            # Accepted before a1.notify_hosts was changed.
            _log.warning("A1 status not sent", policy=name, error="host not in a1.notify_hosts")
            self._notified[name] = status
            return
        trust = self._notify_trust
        async with at_once:
            try:
                # Not redirected: the destination that was checked is the one that gets it.
                async with session.post(
                    found.notify,
                    json=status.document(),
                    allow_redirects=False,
                    ssl=True if trust is None else trust.context,
                ) as answer:
                    delivered = answer.status < HTTPStatus.MULTIPLE_CHOICES
            except (ClientError, TimeoutError, OSError, ValueError) as error:
                _log.warning("A1 status not delivered", policy=name, error=repr(error))
                self._not_taken(name, found)
                return
        if not delivered:
            _log.warning("A1 status refused", policy=name, status=answer.status)
            self._not_taken(name, found)
        elif self._store.instances.get(name) is found:
            self._notified[name] = status
            self._refused.pop(name, None)


def _type_id(request: Request) -> str:
    type_id = request.variables["policyTypeId"]
    if type_id not in TYPES:
        raise HttpError(
            HTTPStatus.NOT_FOUND, f"policyTypeId: unknown; expected one of {', '.join(TYPES)}"
        )
    return type_id


async def _kept(changing: Awaitable[Response]) -> Response:
    try:
        return await changing
    except OSError as error:
        _log.error("A1 policy not kept", error=str(error))
        raise HttpError(
            HTTPStatus.INTERNAL_SERVER_ERROR, "the state file cannot be written"
        ) from None


def _json(body: bytes) -> Any:
    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        value = parse_json(body.decode(), constant)
        # Unpaired surrogates are legal escapes but no text; 1e999 is read as infinite.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except JsonError as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"body: {error}") from None
    except (ValueError, RecursionError) as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"body: {error}; expected JSON") from None
    return value
