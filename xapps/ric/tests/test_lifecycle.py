"""The life of an xApp: start, supervised tasks, graceful and ungraceful ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from ric.errors import RicError
from ric.lifecycle import EXIT_FAILED, EXIT_OK, XApp, run_xapp
from ric.settings import HttpSettings, XAppSettings
from ric.sm import RLC_OID, rlc
from ric.testing import FakeRic, run_virtual

SETTINGS = XAppSettings(http=HttpSettings(listen=""), stop_timeout_s=2.0)

Main = Callable[[XApp[XAppSettings]], Awaitable[None]]


def run(
    main: Main, around: Callable[[XApp[XAppSettings], FakeRic], None] | None = None
) -> XApp[Any]:
    """Run an xApp to its end on virtual time."""

    async def scenario() -> XApp[XAppSettings]:
        ric = FakeRic()
        ric.add_node("gnb-1", RLC_OID)
        app = XApp("test", SETTINGS, link=ric.link(), clock=ric.clock)
        if around is not None:
            around(app, ric)
        async with asyncio.timeout(3600):
            await app.run(main)
        return app

    return run_virtual(scenario())


def later(seconds: float, action: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(seconds, action)


def test_an_xapp_runs_until_stop_is_requested() -> None:
    handled = 0

    async def main(app: XApp[XAppSettings]) -> None:
        nonlocal handled
        async for _ in app.gateway.subscribe("gnb-1", RLC_OID, rlc.event_trigger(1)):
            handled += 1
            assert app.readiness.ready

    def around(app: XApp[XAppSettings], ric: FakeRic) -> None:
        ric._nodes["gnb-1"].report_every(RLC_OID, 1_000, lambda now_us: b"")
        later(1.0005, app.stop)

    app = run(main, around)
    assert 999 <= handled <= 1001
    assert app.stopping
    assert not app.gateway.connected


def test_an_xapp_that_is_done_ends_by_itself() -> None:
    async def main(app: XApp[XAppSettings]) -> None:
        await asyncio.sleep(1)

    run(main)


def test_an_exception_of_main_is_raised_after_the_stop() -> None:
    stopped = []

    async def main(app: XApp[XAppSettings]) -> None:
        async def release() -> None:
            stopped.append("released")

        app.on_stop(release)
        raise ValueError("broken")

    with pytest.raises(ExceptionGroup) as caught:
        run(main)
    assert str(caught.value.exceptions[0]) == "broken"
    assert stopped == ["released"]


def test_on_stop_runs_last_added_first_with_the_gateway_still_open() -> None:
    order: list[str] = []
    rics: list[FakeRic] = []

    async def main(app: XApp[XAppSettings]) -> None:
        async def release(name: str) -> None:
            answer = await app.gateway.control("gnb-1", RLC_OID, b"", name.encode())
            order.append(f"{name} {answer.acknowledged}")

        app.on_stop(lambda: release("first"))
        app.on_stop(lambda: release("second"))
        await asyncio.Event().wait()

    def around(app: XApp[XAppSettings], ric: FakeRic) -> None:
        rics.append(ric)
        later(1, app.stop)

    run(main, around)
    assert order == ["second True", "first True"]
    assert [control.message for control in rics[0].controls] == [b"second", b"first"]


def test_a_stop_callback_that_fails_or_hangs_does_not_stop_the_stop() -> None:
    called: list[str] = []

    async def main(app: XApp[XAppSettings]) -> None:
        async def hang() -> None:
            called.append("hang")
            await asyncio.sleep(1000)

        async def fail() -> None:
            called.append("fail")
            raise ValueError

        app.on_stop(hang)
        app.on_stop(fail)
        later(1, app.stop)
        await asyncio.Event().wait()

    async def timed() -> float:
        began = asyncio.get_running_loop().time()
        app = XApp("test", SETTINGS, link=FakeRic().link())
        await app.run(main)
        return asyncio.get_running_loop().time() - began

    assert run_virtual(timed()) == pytest.approx(1 + SETTINGS.stop_timeout_s, abs=0.01)
    assert called == ["fail", "hang"]


def test_a_supervised_task_is_started_again_with_back_off() -> None:
    began: list[float] = []

    async def main(app: XApp[XAppSettings]) -> None:
        async def flaky() -> None:
            began.append(asyncio.get_running_loop().time())
            if len(began) < 6:
                raise OSError("again")

        await app.supervise("flaky", flaky)

    app = run(main)
    gaps = [b - a for a, b in pairwise(began)]
    assert len(began) == 6
    assert gaps[0] <= 0.05
    assert 0.4 <= gaps[-1] <= 0.8
    assert app.registry.get_sample_value("sojourn_task_restarts_total", {"task": "flaky"}) == 5


def test_a_task_that_worked_for_long_is_started_again_at_once() -> None:
    began: list[float] = []

    async def main(app: XApp[XAppSettings]) -> None:
        async def flaky() -> None:
            began.append(asyncio.get_running_loop().time())
            if len(began) < 10:
                await asyncio.sleep(100)
                raise OSError("after a while")

        await app.supervise("flaky", flaky)

    run(main)
    assert all(b - a <= 100.06 for a, b in pairwise(began))


def test_supervised_tasks_are_cancelled_at_the_stop() -> None:
    ended: list[str] = []

    async def main(app: XApp[XAppSettings]) -> None:
        async def endless() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("endless")

        app.supervise("endless", endless)
        later(1, app.stop)

    run(main)
    assert ended == ["endless"]


def test_supervising_before_the_start_is_an_error() -> None:
    async def work() -> None:
        pass

    with pytest.raises(RicError, match="not running"):
        XApp("test", SETTINGS).supervise("early", work)


def test_the_registry_is_the_callers() -> None:
    registry = CollectorRegistry()
    app = XApp("test", SETTINGS, registry=registry)
    app.metrics.nodes = {"gnb-1", "gnb-2", "gnb-3"}
    assert registry.get_sample_value("sojourn_e2_nodes") == 3


# ---------------------------------------------------------------------- programs


def test_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    async def fine(app: XApp[XAppSettings]) -> None:
        pass

    async def refused(app: XApp[XAppSettings]) -> None:
        raise RicError("policy.yaml: empty; expected a mapping")

    async def broken(app: XApp[XAppSettings]) -> None:
        raise ZeroDivisionError

    assert run_xapp("test", SETTINGS, fine) == EXIT_OK
    capsys.readouterr()
    assert run_xapp("test", SETTINGS, refused) == EXIT_FAILED
    printed = capsys.readouterr().err
    assert "policy.yaml: empty; expected a mapping" in printed
    assert "Traceback" not in printed
    assert run_xapp("test", SETTINGS, broken) == EXIT_FAILED
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_address_in_use_is_reported_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def fine(app: XApp[XAppSettings]) -> None:
        pass

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        settings = XAppSettings(http=HttpSettings(listen=listen))
        assert run_xapp("test", settings, fine) == EXIT_FAILED
    printed = capsys.readouterr().err
    assert "in use" in printed
    assert "Traceback" not in printed


PROGRAM = """
import asyncio, sys
from ric import XAppSettings, run_xapp
from ric.settings import HttpSettings, LogSettings

async def main(app):
    async def release():
        if sys.argv[1] == "hang":
            print("releasing", flush=True)
            await asyncio.sleep(60)
        print("released", flush=True)
    app.on_stop(release)
    print("up", flush=True)
    await asyncio.Event().wait()

settings = XAppSettings(
    http=HttpSettings(listen="127.0.0.1:0"), log=LogSettings(level="error"), stop_timeout_s=60
)
sys.exit(run_xapp("program", settings, main))
"""


@contextlib.contextmanager
def program(mode: str) -> Any:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, mode], stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_gracefully_though_no_gateway_is_there(number: signal.Signals) -> None:
    with program("quick") as process:
        process.send_signal(number)
        assert process.stdout.readline() == "released\n"
        assert process.wait(10) == EXIT_OK


def test_a_second_signal_stops_at_once() -> None:
    with program("hang") as process:
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "releasing\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == EXIT_FAILED
        assert process.stdout.read() == ""
