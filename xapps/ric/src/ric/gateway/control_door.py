"""The gateway's side of RIC controls, for gateways in Python: all of a client's over one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import grpc
import grpc.aio
import structlog
from sojourn_interfaces import e2_gateway_pb2 as pb

MOST_AT_ONCE: Final = 256
"""Unanswered controls of one call; further ones wait in the connection."""

Context = grpc.aio.ServicerContext[pb.ControlRequest, pb.ControlResponse]

_log = structlog.get_logger()


class NoAnswer(Exception):  # noqa: N818 - says what happened
    """A control has none; `code` and the message say why."""

    def __init__(self, code: grpc.StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class ControlDoor:
    """`Control` of the proto; `carry_out` does one, or raises `NoAnswer`."""

    def __init__(
        self, carry_out: Callable[[pb.ControlRequest], Awaitable[pb.ControlAnswer]]
    ) -> None:
        self._carry_out = carry_out
        self._open: set[_Stream] = set()

    async def stream(self, requests: AsyncIterator[pb.ControlRequest], context: Context) -> None:
        """Controls as they come; those begun are answered before it ends."""
        stream = _Stream(requests, context, self._response)
        self._open.add(stream)
        try:
            await stream.serve()
        finally:
            self._open.discard(stream)
        if stream.why_ended:
            await context.abort(grpc.StatusCode.UNAVAILABLE, stream.why_ended)

    def end(self, why: str) -> None:
        """Take no more controls from the streams there are."""
        for stream in self._open:
            stream.end(why)

    async def _response(self, request: pb.ControlRequest) -> pb.ControlResponse:
        response = pb.ControlResponse(request_id=request.request_id)
        try:
            async with asyncio.timeout(request.timeout_ms / 1000 or None):
                response.answer.CopyFrom(await self._carry_out(request))
        except NoAnswer as error:
            code, detail = error.code, str(error)
        except TimeoutError:
            code = grpc.StatusCode.DEADLINE_EXCEEDED
            detail = f"no answer within {request.timeout_ms} ms"
        except Exception:
            _log.exception("control failed", node=request.node_id)
            code, detail = grpc.StatusCode.UNKNOWN, "the gateway failed; its log says where"
        else:
            return response
        response.error.code, response.error.detail = code.value[0], detail
        return response


class _Stream:
    """One call. The task that reads a control carries it out itself and leaves reading to another:
    a control does not wait for the loop to begin a task for it."""

    def __init__(
        self,
        requests: AsyncIterator[pb.ControlRequest],
        context: Context,
        respond: Callable[[pb.ControlRequest], Awaitable[pb.ControlResponse]],
    ) -> None:
        self._requests = aiter(requests)
        self._context = context
        self._respond = respond
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._failure: BaseException | None = None
        # gRPC has one write of a call at a time.
        self._writing = asyncio.Lock()
        self.why_ended = ""

    async def serve(self) -> None:
        """Until the client has asked all that it will and has its answers, or `end`."""
        self._read()
        try:
            await self._over.wait()
        finally:
            for task in self._tasks:
                task.cancel()
        if self._failure is not None:
            raise self._failure

    def end(self, why: str) -> None:
        """Read no more."""
        self.why_ended = why
        if self._reading is not None:
            self._reading.cancel()

    def _read(self) -> None:
        self._reading = task = asyncio.create_task(self._read_and_answer())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def _read_and_answer(self) -> None:
        request = await anext(self._requests, None)
        self._reading = None
        if request is None:
            return
        room = len(self._tasks) < MOST_AT_ONCE
        if room:
            self._read()
        response = await self._respond(request)
        async with self._writing:
            await self._context.write(response)
        if not room and not self.why_ended:
            self._read()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failure = failure
        if not self._tasks or self._failure is not None:
            self._over.set()
