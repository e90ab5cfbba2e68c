"""The A1-P server: policy types, instances, status, notifications (O-RAN.WG2.TS.A1AP)."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, NoReturn

import structlog
from aiohttp import ClientError, ClientSession, ClientTimeout, web
from ric.clock import Clock
from ric.errors import SettingsError
from ric.settings import split_address
from yarl import URL

from tc_controller.a1.compile import Status, statuses
from tc_controller.a1.openapi import POLICY_ID, ROOT, openapi, policy_type
from tc_controller.a1.store import MAX_INSTANCES, InstanceStore, StatementError, instance
from tc_controller.a1.types import TYPES
from tc_controller.core.controller import Controller
from tc_controller.core.targets import TargetedPolicy
from tc_controller.settings import A1Settings

_MAX_BODY: Final = 64 << 10
_MAX_DESTINATION: Final = 2000
_PERIOD_S: Final = 1.0
_TIMEOUT: Final = ClientTimeout(total=2.0)
_AT_ONCE: Final = 16
_log = structlog.get_logger()


class ProblemError(Exception):
    """An answer that is a ProblemDetails object (RFC 9457)."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def _problem(status: int, detail: str) -> web.Response:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    return web.json_response(
        {**body, "detail": detail}, status=status, content_type="application/problem+json"
    )


@web.middleware
async def _problems(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        return await handler(request)
    except ProblemError as problem:
        return _problem(problem.status, problem.detail)
    except web.HTTPException as error:
        answer = _problem(error.status, f"{request.method} {request.path}: {error.reason}")
        if "Allow" in error.headers:
            answer.headers["Allow"] = error.headers["Allow"]
        return answer
    except OSError as error:
        _log.error("A1 policy not kept", error=str(error))
        return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, "the state file cannot be written")


def tls_context(settings: A1Settings) -> ssl.SSLContext | None:
    """TLS of the server; `None` for plain HTTP. Raises `SettingsError` for an unusable file."""
    if settings.certificate_file is None:
        return None
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(settings.certificate_file, settings.key_file)
        if settings.client_ca_file is not None:
            context.load_verify_locations(settings.client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise SettingsError([f"a1: {error}; expected PEM files that belong together"]) from None
    return context


class A1Server:
    """Serves the instances of a store.

    ``apply`` puts the instances of the store into force.
    """

    def __init__(
        self,
        store: InstanceStore,
        controller: Controller,
        apply: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._store = store
        self._controller = controller
        self._apply = apply
        self._clock = clock
        self._changing = asyncio.Lock()
        #: Statuses that were reported; without an entry the next one is.
        self._notified: dict[str, Status] = {}
        self.app = web.Application(middlewares=[_problems], client_max_size=_MAX_BODY)
        of_type = f"{ROOT}/policytypes/{{policyTypeId}}"
        policy = f"{of_type}/policies/{{policyId}}"
        self.app.add_routes(
            [
                web.get(f"{ROOT}/openapi.json", self._openapi),
                web.get(f"{ROOT}/policytypes", self._types),
                web.get(of_type, self._type),
                web.get(f"{of_type}/policies", self._policies),
                web.get(policy, self._get),
                web.put(policy, self._put),
                web.delete(policy, self._delete),
                web.get(f"{policy}/status", self._status),
            ]
        )

    async def start(self, settings: A1Settings) -> tuple[web.AppRunner, str]:
        """Listen; returns the runner, for its cleanup, and the address with the port in use."""
        context = tls_context(settings)
        runner = web.AppRunner(self.app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        host, port = split_address(settings.listen)
        await web.TCPSite(runner, host, port, ssl_context=context).start()
        host, port = runner.addresses[0][:2]
        return runner, f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def statuses(self) -> dict[str, Status]:
        """How each instance is enforced now."""
        policy = self._controller.policy
        if not isinstance(policy, TargetedPolicy):
            return {}
        return statuses(self._store.results, self._controller, policy)

    # -------------------------------------------------------------------- requests

    async def _openapi(self, _: web.Request) -> web.Response:
        return web.json_response(openapi())

    async def _types(self, _: web.Request) -> web.Response:
        return web.json_response(list(TYPES))

    async def _type(self, request: web.Request) -> web.Response:
        return web.json_response(policy_type(_type_id(request)))

    async def _policies(self, request: web.Request) -> web.Response:
        type_id = _type_id(request)
        every = self._store.instances.items()
        return web.json_response([name for name, each in every if each.type_id == type_id])

    async def _get(self, request: web.Request) -> web.Response:
        return web.json_response(self._store.instances[self._known(request)].body)

    async def _status(self, request: web.Request) -> web.Response:
        return web.json_response(self.statuses()[self._known(request)].document())

    async def _put(self, request: web.Request) -> web.Response:
        type_id, policy_id = _type_id(request), request.match_info["policyId"]
        if not re.fullmatch(POLICY_ID, policy_id):
            raise ProblemError(HTTPStatus.BAD_REQUEST, f"policyId: expected {POLICY_ID}")
        destination = _destination(request)
        try:
            new = instance(type_id, await _json(request), destination)
        except StatementError as error:
            raise ProblemError(HTTPStatus.BAD_REQUEST, str(error)) from None
        async with self._changing:
            old = self._store.instances.get(policy_id)
            if old is not None and old.type_id != type_id:
                raise ProblemError(
                    HTTPStatus.CONFLICT, f"policyId: it is a policy of {old.type_id}"
                )
            if old is None and len(self._store.instances) >= MAX_INSTANCES:
                raise ProblemError(
                    HTTPStatus.CONFLICT, f"there are {MAX_INSTANCES} policies, the limit"
                )
            await self._store.replace(policy_id, new)
            self._apply()
            self._notified[policy_id] = self.statuses()[policy_id]
        headers = {} if old else {"Location": request.path}
        return web.json_response(new.body, status=200 if old else 201, headers=headers)

    async def _delete(self, request: web.Request) -> web.Response:
        async with self._changing:
            policy_id = self._known(request)
            await self._store.replace(policy_id, None)
            self._notified.pop(policy_id, None)
            self._apply()
        return web.Response(status=HTTPStatus.NO_CONTENT)

    def _known(self, request: web.Request) -> str:
        type_id, policy_id = _type_id(request), request.match_info["policyId"]
        found = self._store.instances.get(policy_id)
        if found is None or found.type_id != type_id:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"policyId: {type_id} has no such policy")
        return policy_id

    # --------------------------------------------------------------- notifications

    async def notify(self) -> None:
        """Post each change of a status to the destination of its instance, until cancelled.

        A status that could not be delivered is posted again, as it is then, after a second.
        """
        async with ClientSession(timeout=_TIMEOUT) as session:
            at_once = asyncio.Semaphore(_AT_ONCE)
            while True:
                await self._clock.sleep(_PERIOD_S)
                wanted = [name for name, each in self._store.instances.items() if each.notify]
                if not wanted:
                    continue
                now = self.statuses()
                await asyncio.gather(
                    *(
                        self._post(session, at_once, name, now[name])
                        for name in wanted
                        if name in now and self._notified.get(name) != now[name]
                    )
                )

    async def _post(
        self, session: ClientSession, at_once: asyncio.Semaphore, name: str, status: Status
    ) -> None:
        found = self._store.instances.get(name)
        if found is None or found.notify is None:
            return
        async with at_once:
            try:
                # Not redirected: the destination that was checked is the one that gets it.
                async with session.post(
                    found.notify, json=status.document(), allow_redirects=False
                ) as answer:
                    delivered = answer.status < HTTPStatus.MULTIPLE_CHOICES
            except (ClientError, TimeoutError, OSError, ValueError) as error:
                _log.warning("A1 status not delivered", policy=name, error=repr(error))
                return
        if not delivered:
            _log.warning("A1 status refused", policy=name, status=answer.status)
        elif self._store.instances.get(name) is found:
            self._notified[name] = status


def _type_id(request: web.Request) -> str:
    type_id = request.match_info["policyTypeId"]
    if type_id not in TYPES:
        raise ProblemError(
            HTTPStatus.NOT_FOUND, f"policyTypeId: unknown; expected one of {', '.join(TYPES)}"
        )
    return type_id


def _destination(request: web.Request) -> str | None:
    text = request.query.get("notificationDestination")
    if text is None:
        return None
    expected = "notificationDestination: expected an absolute http or https URI"
    try:
        url = URL(text)
    except ValueError:
        raise ProblemError(HTTPStatus.BAD_REQUEST, expected) from None
    if len(text) > _MAX_DESTINATION or url.scheme not in ("http", "https") or not url.host:
        raise ProblemError(HTTPStatus.BAD_REQUEST, expected)
    return text


async def _json(request: web.Request) -> Any:
    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        text = (await request.read()).decode()
        value = json.loads(text, parse_constant=constant)
        # Unpaired surrogates are legal escapes but no text.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, f"body: {error}; expected JSON") from None
    return value
