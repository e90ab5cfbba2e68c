"""Command-line tools, logs, and the virtual time that the other tests stand on."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
import textwrap
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
import ric.testing
from ric import logs
from ric.cli import ric as ric_cli
from ric.cli import sm as sm_cli
from ric.clock import SystemClock
from ric.e2 import Indication
from ric.errors import NodeGone
from ric.settings import GatewaySettings, LogSettings
from ric.sm import MAC_OID, RLC_OID, mac, rlc, tc
from ric.testing import FakeGatewayServer, FakeRic, LoopClock, run_virtual
from ric.testing.virtual_time import EPOCH_US


def answers(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    lines: bytes,
) -> list[dict[str, Any]]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert sm_cli.main(arguments) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_ric_sm_answers_each_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message = rlc.encode(rlc.zeros(1), 7)
    lines = b"\n".join(
        [
            message.hex().encode(),
            b"",
            b"zz",
            b"00 ff",
            message[:-1].hex().encode(),
            b"\xff\xfe",
            b"0",
        ]
    )
    good, *bad = answers(monkeypatch, capsys, ["decode", "--sm", "rlc"], lines)
    assert good == {"value": rlc.to_json(rlc.decode(message))}
    assert [list(answer) for answer in bad] == [["error"]] * 5
    assert "163 bytes for 1 records; expected 164" in bad[2]["error"]


@pytest.mark.parametrize("model", [rlc, mac], ids=["rlc", "mac"])
def test_ric_sm_encode_is_the_inverse(
    model: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = model.__name__.rsplit(".", 1)[1]
    message = model.encode(model.zeros(2), 7)
    value = model.to_json(model.decode(message))
    wrapped = json.dumps({"value": value}).encode()
    lines = json.dumps(value).encode() + b"\n" + wrapped + b"\n{\n[]\n" + b"[" * 100_000
    lines += b'\n{"value": 1, "value": 2}'
    got = answers(monkeypatch, capsys, ["encode", "--sm", name], lines)
    assert got[:2] == [{"hex": message.hex()}] * 2
    assert [list(answer) for answer in got[2:]] == [["error"]] * 4
    assert got[-1]["error"] == "line: text: key 'value' given twice; expected it once"


def test_flexric_vectors_through_the_program(rlc_vectors: list[dict[str, Any]]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ric.cli.sm", "decode", "--sm", "rlc"],
        input="".join(vector["hex"] + "\n" for vector in rlc_vectors),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == [{"value": vector["value"]} for vector in rlc_vectors]


@pytest.mark.skipif(not tc.available(), reason="the module e2sm_tc is not built")
def test_ric_sm_converts_tc(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["decode", "--sm", "tc", "--type", "event-trigger", "--encoding", "v0"]
    (answer, error) = answers(monkeypatch, capsys, arguments, b"0a000000\n0a00\n")
    assert "value" in answer
    assert "error" in error


def test_ric_sm_reports_a_missing_codec(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "e2sm_tc", None)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"00\n")))
    tc._codec.cache_clear()
    assert sm_cli.main(["decode", "--sm", "tc"]) == 1
    tc._codec.cache_clear()
    assert "needs the Python module e2sm_tc" in capsys.readouterr().err


async def test_ric_nodes_and_watch(capsys: pytest.CaptureFixture[str]) -> None:
    fake = FakeRic(clock=SystemClock())
    node = fake.add_node("gnb-1", RLC_OID, MAC_OID)
    message = rlc.encode(rlc.zeros(1), 7)
    node.report_every(RLC_OID, 1_000, lambda now_us: message)
    node.report_every(MAC_OID, 1_000, lambda now_us: b"garbage")
    async with FakeGatewayServer(fake) as server:

        async def tool(*arguments: str) -> str:
            flags = ["--gateway", server.address]
            assert await asyncio.to_thread(ric_cli.main, [*arguments, *flags]) == 0
            return capsys.readouterr().out

        table = await tool("nodes")
        assert [line.split()[:4] for line in table.splitlines()] == [
            ["NODE", "TYPE", "PLMN", "FUNCTION"],
            ["gnb-1", "gnb", "001-01", "rlc"],
            ["gnb-1", "gnb", "001-01", "mac"],
        ]
        assert json.loads(await tool("nodes", "--json"))["ran_functions"][0]["oid"] == RLC_OID
        shown = [
            json.loads(line) for line in (await tool("watch", "rlc", "--count", "2")).splitlines()
        ]
        assert [line["sequence"] for line in shown] == [0, 1]
        assert shown[0]["value"] == rlc.to_json(rlc.decode(message))
        (bad,) = (await tool("watch", MAC_OID, "--count", "1", "--node", "gnb-1")).splitlines()
        assert "mac: message: 7 bytes" in json.loads(bad)["error"]


def test_ric_reports_an_unreachable_gateway(capsys: pytest.CaptureFixture[str]) -> None:
    assert ric_cli.main(["nodes", "--gateway", "127.0.0.1:1"]) == 1
    assert "E2 gateway 127.0.0.1:1: not available" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["watch", "zzz"], "'zzz'; expected rlc, mac, kpm, tc_v0, tc_v1, or an OID"),
        (["watch", "rlc", "--count", "-1"], "'-1'; expected a whole number, 0 or more"),
        (["watch", "rlc", "--period-ms", "0"], "'0'; expected a whole number, 1 to 4294967295"),
    ],
)
def test_ric_watch_refuses_what_no_gateway_can_answer(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        ric_cli.main([*arguments, "--gateway", "127.0.0.1:1"])
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err


def test_a_wrong_setting_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert ric_cli.main(["nodes", "--gateway", "nonsense"]) == 2
    assert "--gateway: 'nonsense': not an address" in capsys.readouterr().err


def test_a_subcommand_of_a_missing_distribution_names_the_distribution(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ric_cli, "entry_points", lambda group: ())
    assert ric_cli.main(["doctor", "--json"]) == 2
    assert capsys.readouterr().err == "ric doctor: not installed; install sojourn-ric-doctor\n"


def test_an_indication_of_an_unknown_model_is_shown_in_hexadecimal() -> None:
    indication = Indication("n", 1, "9.9", 1, b"", b"\xab", None, 1, 2)
    assert ric_cli.indication_to_json(indication)["value"] == "ab"


# ------------------------------------------------------------------------- logs


def test_logs_are_json_lines_away_from_a_terminal() -> None:
    stream = io.StringIO()
    logs.configure(LogSettings(level="info"), stream)
    log = logs.get_logger(xapp="test")
    log.debug("not shown")
    try:
        int("broken")
    except ValueError:
        log.exception("failed", bearer=3)
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["event"], line["level"], line["xapp"], line["bearer"]) == (
        "failed",
        "error",
        "test",
        3,
    )
    assert line["exception"][0]["exc_type"] == "ValueError"
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("format_", ["json", "console"])
def test_tracebacks_in_logs_hold_no_local_variables(format_: Literal["json", "console"]) -> None:
    stream = io.StringIO()
    logs.configure(LogSettings(format=format_), stream)

    def use(token: str) -> int:
        header = {"authorization": f"Bearer {token}"}
        return len(header) // 0

    secret = "0123456789abcdef" * 2
    try:
        use(secret)
    except ZeroDivisionError:
        logs.get_logger().exception("failed")
    assert "ZeroDivisionError" in stream.getvalue()
    assert "0123456789abcdef" not in stream.getvalue()
    assert "locals" not in stream.getvalue()


def test_logs_for_people() -> None:
    stream = io.StringIO()
    logs.configure(LogSettings(format="console"), stream)
    logs.get_logger().warning("gateway lost", address="x:1")
    assert "gateway lost" in stream.getvalue()
    assert "address=x:1" in stream.getvalue()
    logs.get_logger().warning("bad key", key="\x1b]0;title\x07")
    assert "\x1b]" not in stream.getvalue()
    assert r"\x1b]0;title\x07" in stream.getvalue()


def test_no_control_character_of_an_input_reaches_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text('gateway: {"\\e[31mgateway\\u009b": {}, "a\\u202eb": 1}\n')
    assert ric_cli.main(["nodes", "--config", str(settings)]) == 2
    with pytest.raises(SystemExit):
        ric_cli.main(["nodes", "--\x1b[2J"])
    shown = capsys.readouterr().err
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert r"\x1b[31mgateway\x9b: unknown key" in shown
    assert r"a\u202eb: unknown key" in shown
    assert r"\x1b[2J" in shown


# ----------------------------------------------------------------- virtual time


def test_a_year_passes_in_no_time() -> None:
    clock = LoopClock()

    async def wait() -> int:
        await clock.sleep(365 * 86_400)
        return clock.now_us()

    began = time.monotonic()
    assert run_virtual(wait()) == EPOCH_US + 365 * 86_400 * 1_000_000
    assert time.monotonic() - began < 30


def test_timers_fire_in_order_whatever_the_order_they_were_set_in() -> None:
    async def main() -> list[float]:
        fired: list[float] = []

        async def after(seconds: float) -> None:
            await asyncio.sleep(seconds)
            fired.append(seconds)

        await asyncio.gather(*(after(seconds) for seconds in (3, 1, 2, 0.5)))
        return fired

    assert run_virtual(main()) == [0.5, 1, 2, 3]


def test_waiting_for_what_cannot_come_is_an_error_not_a_hang() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="every task waits"):
        run_virtual(main())


def test_a_fake_node_stops_reporting_when_it_leaves() -> None:
    async def main() -> None:
        fake = FakeRic()
        node = fake.add_node("gnb-1", RLC_OID)
        source = node.report_every(RLC_OID, 1_000, lambda now_us: b"")
        fake.remove_node("gnb-1")
        await asyncio.sleep(1)
        assert source.cancelled()
        with pytest.raises(NodeGone):
            await fake.control("gnb-1", RLC_OID, b"", b"")

    run_virtual(main())


def test_reports_are_due_by_the_clock_not_by_the_handler() -> None:
    async def main() -> None:
        fake = FakeRic()
        node = fake.add_node("gnb-1", RLC_OID)
        async with fake.client(GatewaySettings()) as gateway:
            stream = gateway.subscribe("gnb-1", RLC_OID, rlc.event_trigger(1))
            node.report_every(RLC_OID, 1_000, lambda now_us: b"")
            times = []
            for _ in range(5):
                times.append((await anext(stream)).collected_at_us)
                await asyncio.sleep(0.0003)
        assert [b - a for a, b in pairwise(times)] == [1000] * 4

    run_virtual(main())


def test_the_example_of_the_documentation_runs() -> None:
    lines = (ric.testing.__doc__ or "").splitlines()
    example = [line for line in lines if line.startswith("    ") or not line]
    exec(compile(textwrap.dedent("\n".join(example)), "example", "exec"), {})
