"""RIC controls over one call that stays open: Python's gRPC takes longer to begin and end a call
than to carry two messages over one that is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import grpc.aio
from sojourn_interfaces import e2_gateway_pb2 as pb
from sojourn_interfaces.e2_gateway_pb2_grpc import E2GatewayStub

from ric.gateway.status import code_of, rpc_error


class ControlStream:
    """One `Controls` call, from the first control to whatever ends it; make it within a running
    event loop."""

    def __init__(self, stub: E2GatewayStub) -> None:
        self._asked: asyncio.Queue[pb.ControlsRequest] = asyncio.Queue()
        self._waiting: dict[int, asyncio.Future[pb.ControlResponse]] = {}
        self._last_id = 0
        # The call writes from a task of its own: a caller that gives up while it writes would take
        # the call with it.
        self._call = stub.Controls(self._requests())
        self._following = asyncio.create_task(self._follow(), name="ric controls")

    @property
    def ended(self) -> bool:
        """Whether no more controls can go over it."""
        return self._following.done()

    async def control(self, request: pb.ControlRequest, timeout_s: float) -> pb.ControlResponse:
        """The answer to one control.

        Raises `grpc.aio.AioRpcError` with what the unary call would end with, or with what ended
        this one.
        """
        self._last_id += 1
        request_id = self._last_id
        self._asked.put_nowait(
            pb.ControlsRequest(
                request_id=request_id, control=request, timeout_ms=max(1, round(1000 * timeout_s))
            )
        )
        answer: asyncio.Future[pb.ControlResponse] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise rpc_error(grpc.StatusCode.DEADLINE_EXCEEDED, "no answer") from None
        finally:
            self._waiting.pop(request_id, None)

    async def close(self) -> None:
        """End the call; controls without an answer end with `CANCELLED`."""
        self._call.cancel()
        await asyncio.wait([self._following])

    async def _requests(self) -> AsyncIterator[pb.ControlsRequest]:
        while True:
            yield await self._asked.get()

    async def _follow(self) -> None:
        """Hand answers to who waits for them; when the call ends, its end."""
        end = rpc_error(grpc.StatusCode.UNAVAILABLE, "the gateway ended the stream of controls")
        try:
            async for response in self._call:
                if response is None:  # what gRPC cannot parse
                    end = rpc_error(grpc.StatusCode.INTERNAL, "not the interface's message")
                    break
                self._hand_on(response)
        except grpc.aio.AioRpcError as error:
            end = error
        except asyncio.CancelledError:
            end = rpc_error(grpc.StatusCode.CANCELLED, "link closed")
        self._call.cancel()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(end)

    def _hand_on(self, response: pb.ControlsResponse) -> None:
        answer = self._waiting.get(response.request_id)
        # Without one it comes too late: the caller has given up.
        if answer is None or answer.done():
            return
        if response.HasField("error"):
            error = response.error
            answer.set_exception(rpc_error(code_of(error.code), error.detail))
        else:
            answer.set_result(response.answer)
