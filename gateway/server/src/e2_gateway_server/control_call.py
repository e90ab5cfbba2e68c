"""One `Control` call: the RIC controls of one client, started in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import grpc
import structlog
from sojourn_interfaces import e2_gateway_pb2 as pb

from e2_gateway_server.backend import Backend, ProcedureError

MAX_PENDING: Final = 256
"""Unanswered controls of one call; further ones wait in the connection."""

_log = structlog.get_logger()


class ControlCall:
    """Serves one call.

    The task that reads a control also carries it out and leaves reading to a new task: a control
    does not wait until the event loop starts a task for it.
    """

    def __init__(
        self,
        backend: Backend,
        requests: AsyncIterator[pb.ControlRequest],
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """`write` sends an encoded `ControlResponse`."""
        self._backend = backend
        self._requests = aiter(requests)
        self._write = write
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._failure: BaseException | None = None
        # A call has one write at a time.
        self._writing = asyncio.Lock()
        self._stopped: ProcedureError | None = None

    async def run(self) -> None:
        """Serve until the client has closed its side and has its answers, or `stop`.

        Raises the error given to `stop`.
        """
        self._read()
        try:
            await self._over.wait()
        finally:
            for task in self._tasks:
                task.cancel()
        if error := self._failure or self._stopped:
            raise error

    def stop(self, error: ProcedureError) -> None:
        """Accept no more controls; pending ones are still answered."""
        self._stopped = error
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
        room = len(self._tasks) < MAX_PENDING
        if room:
            self._read()
        response = await self._response(request)
        async with self._writing:
            await self._write(response.SerializeToString())
        if not room and self._stopped is None:
            self._read()

    async def _response(self, request: pb.ControlRequest) -> pb.ControlResponse:
        try:
            async with asyncio.timeout(request.timeout_ms / 1000 or None):
                answer = await self._backend.control(request)
            return pb.ControlResponse(request_id=request.request_id, answer=answer)
        except ProcedureError as error:
            code, detail = error.code, str(error)
        except TimeoutError:
            code = grpc.StatusCode.DEADLINE_EXCEEDED
            detail = f"no answer within {request.timeout_ms} ms"
        except Exception:
            _log.exception("control failed", node=request.node_id)
            code, detail = grpc.StatusCode.UNKNOWN, "the gateway failed; see its log"
        failure = pb.ControlError(code=code.value[0], detail=detail)
        return pb.ControlResponse(request_id=request.request_id, error=failure)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failure = failure
        if not self._tasks or self._failure is not None:
            self._over.set()
