"""Certificates, access file, audit log and metrics of a guard."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
import textwrap
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from pki import Authority
from serving_world import (
    PROCEDURES,
    SERVICE,
    Guarded,
    ask,
    certificates,
    channel,
    get,
    grpc_server,
    http_server,
    status,
    unary,
    until,
)
from sojourn_serving import (
    Account,
    Call,
    Certificates,
    Exceeded,
    Guard,
    Hold,
    Pool,
    Procedure,
    Rate,
    Refusal,
    Request,
    Response,
    SetupError,
    check_access_file,
    check_certificates,
)

CODE = grpc.StatusCode
TOKEN = "0123456789abcdef0123456789abcdef"
ACCESS = """
clients:
  - {name: all, certificates: [all], may: [read, subscribe, control], nodes: ["gnb-*"]}
  - {name: noc, token_file: noc.token, may: [read]}
"""


def access_file(where: Path, text: str = ACCESS) -> Path:
    (where / "noc.token").write_text(f"{TOKEN}\n")
    (where / "access.yaml").write_text(text)
    return where / "access.yaml"


def secure(port: int, authority: Authority, pair: tuple[Path, Path] | None) -> grpc.aio.Channel:
    pem, key = (path.read_bytes() for path in pair) if pair else (None, None)
    credentials = grpc.ssl_channel_credentials(authority.file.read_bytes(), key, pem)
    options = (("grpc.use_local_subchannel_pool", 1),)
    return grpc.aio.secure_channel(f"localhost:{port}", credentials, options=options)


async def test_clients_do_what_their_rights_allow_and_the_audit_log_has_it(tmp_path: Path) -> None:
    seen: list[tuple[str, str, bool, bool]] = []

    async def asks(call: Call) -> bytes:
        caller = call.caller
        seen.append((caller.name, caller.who, caller.sees("gnb-1"), caller.sees("other")))
        caller.audit("control", "accepted", node="gnb-1", ran_function="1.2.3", what="sha256 ab")
        refusal = caller.refusal("control", "other", what="a control")
        assert isinstance(refusal, Refusal)
        assert (refusal.reason, refusal.detail) == (
            "node", "client all: no access to node other",
        )  # fmt: skip
        return b"asked"

    authority, audit = Authority(tmp_path), tmp_path / "audit.jsonl"
    guarded = Guarded(access_file=access_file(tmp_path), audit_file=audit)
    assert guarded.guard.limited
    procedures = {**PROCEDURES, "Ask": Procedure(asks, "control")}
    files = certificates(authority, ca=True)
    async with grpc_server(guarded, procedures, certificates=files) as server:
        async with secure(server.port, authority, authority.issue("all")) as client:
            assert await unary(client, "Ask")(b"") == b"asked"
        async with secure(server.port, authority, authority.issue("stranger")) as client:
            code, detail = await status(unary(client)(b""))
            assert (code, detail) == (
                CODE.UNAUTHENTICATED, "unknown client: certificate stranger, localhost",
            )  # fmt: skip
            token = (("authorization", f"Bearer {TOKEN}"),)
            assert await unary(client)(b"by token", metadata=token) == b"by token"
            code, detail = await status(unary(client, "Ask")(b"", metadata=token))
            assert (code, detail) == (CODE.PERMISSION_DENIED, "client noc: no right to control")
        async with secure(server.port, authority, None) as client:
            assert (await status(unary(client)(b"")))[0] is CODE.UNAVAILABLE
        assert seen == [("all", "all", True, False)]
        assert guarded.value("sojourn_access_refused", "grpc", "right") == 1
        assert guarded.value("sojourn_access_refused", "grpc", "unauthenticated") == 1
        assert guarded.value("sojourn_access_refused", "grpc", "node") == 1
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    shown = [(line["who"], line["action"], line["outcome"], line["what"]) for line in lines]
    path = f"/{SERVICE}"
    assert shown == [
        ("all", "control", "accepted", "sha256 ab"),
        ("all", "refused", "refused: client all: no access to node other", "a control"),
        (
            "certificate stranger, localhost", "refused",
            "refused: unknown client: certificate stranger, localhost", f"{path}/One",
        ),
        ("noc", "refused", "refused: client noc: no right to control", f"{path}/Ask"),
    ]  # fmt: skip
    assert lines[0]["node"] == "gnb-1"
    assert lines[0]["peer"].rpartition(":")[0] in ("127.0.0.1", "[::1]")


async def test_changed_files_are_taken_over_and_bad_ones_are_not(tmp_path: Path) -> None:
    lost: list[Refusal] = []

    async def waits(call: Call) -> None:
        with guarded.guard.watch(call.caller, "subscribe", "gnb-1", lost.append):
            await call.write(b"here")
            await until(lambda: bool(lost))
            call.abort(CODE.PERMISSION_DENIED.value[0], lost[0].detail)

    authority, audit = Authority(tmp_path), tmp_path / "audit.jsonl"
    guarded = Guarded(access_file=access_file(tmp_path), audit_file=audit)
    procedures = {**PROCEDURES, "Wait": Procedure(waits, "subscribe", many_responses=True)}
    files = certificates(authority, ca=True)
    mine = authority.issue("all")
    async with grpc_server(guarded, procedures, certificates=files) as server:
        async with secure(server.port, authority, mine) as client:
            call = client.unary_stream(f"/{SERVICE}/Wait")(b"")
            assert await call.read() == b"here"
            access_file(tmp_path, "clients: everyone")
            guarded.guard.check()
            assert "access file refused, the list in force stays" in guarded.events
            assert not lost
            access_file(tmp_path, ACCESS.replace("read, subscribe, control", "read"))
            # By itself.
            await until(lambda: "access file reloaded" in guarded.events)
            code, detail = await status(call)
            assert (code, detail) == (CODE.PERMISSION_DENIED, "client all: no right to subscribe")
        assert guarded.value("sojourn_access_reload_failures") == 1

        authority.issue("server", dns=("localhost", "new"))
        key = files.key.read_bytes()
        files.key.write_bytes(b"-----BEGIN PRIVATE KEY-----\nno key\n")
        guarded.guard.check()
        assert guarded.value("sojourn_tls_reload_failures", "grpc") == 1
        async with secure(server.port, authority, mine) as client:
            assert await unary(client)(b"the former") == b"the former"
        files.key.write_bytes(key)
        guarded.guard.check()
        assert "certificate reloaded" in guarded.events
        async with secure(server.port, authority, mine) as client:
            assert await unary(client)(b"the new") == b"the new"
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    reloads = [line for line in lines if line["action"] == "reload"]
    assert [(line["what"], line["outcome"][:8]) for line in reloads] == [
        ("access", "rejected"), ("access", "accepted"),
        ("certificate grpc", "rejected"), ("certificate grpc", "accepted"),
    ]  # fmt: skip


async def test_a_callback_that_fails_does_not_keep_others_their_rights(tmp_path: Path) -> None:
    lost: list[Refusal] = []

    def fails(_: Refusal) -> None:
        raise ValueError("a fault of the program")

    async def waits(call: Call) -> None:
        with ExitStack() as watches:
            for on_lost in (*[fails] * 30, lost.append, *[fails] * 30):
                watches.enter_context(
                    guarded.guard.watch(call.caller, "subscribe", "gnb-1", on_lost)
                )
            await call.write(b"here")
            await until(lambda: bool(lost))

    authority = Authority(tmp_path)
    guarded = Guarded(access_file=access_file(tmp_path))
    procedures = {"Wait": Procedure(waits, "subscribe", many_responses=True)}
    async with (
        grpc_server(guarded, procedures, certificates=certificates(authority, ca=True)) as server,
        secure(server.port, authority, authority.issue("all")) as client,
    ):
        call = client.unary_stream(f"/{SERVICE}/Wait")(b"")
        assert await call.read() == b"here"
        access_file(tmp_path, ACCESS.replace("read, subscribe, control", "read"))
        guarded.guard.check()
        assert (await status(call))[0] is CODE.OK
    assert guarded.events.count("lost right not handled") == 60


async def test_https_with_a_client_ca_serves_probes_without_a_certificate(tmp_path: Path) -> None:
    async def names(request: Request) -> Response:
        refusal = request.caller.refusal("read", what=request.path)
        return Response(200, {}, (refusal.reason if refusal else request.caller.name).encode())

    authority = Authority(tmp_path)
    guarded = Guarded(access_file=access_file(tmp_path))
    given: dict[str, Any] = {"certificates": certificates(authority, ca=True), "label": "a1"}
    async with http_server(guarded, names, listen="localhost:0", **given) as server:
        port = server.address.rpartition(":")[2]
        context = ssl.create_default_context(cafile=authority.file)
        assert (await ask(f"localhost:{port}", get("/"), context))[2] == b"unauthenticated"
        context.load_cert_chain(*authority.issue("all"))
        assert (await ask(f"localhost:{port}", get("/"), context))[2] == b"all"
        assert guarded.value("sojourn_access_refused", "a1", "unauthenticated") == 1
        assert guarded.value("sojourn_tls_certificate_not_after_seconds", "a1") > 1.7e9


@pytest.mark.parametrize(
    ("certificate", "key", "words"),
    [
        ("server.pem", "absent.key", "key_file: .*absent.key: .*expected a readable file"),
        ("garbage.pem", "server.key", "certificate_file: .*garbage.pem: not PEM; expected"),
        ("server.pem", "other.key", "certificate_file: .*expected PEM files, the key matching"),
        ("server.pem", "locked.key", "expected PEM files"),
    ],
)
def test_certificates_that_cannot_be_used_are_named(
    certificate: str, key: str, words: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    authority.issue("server")
    authority.issue("other")
    authority.issue("locked", password=b"secret")
    (tmp_path / "garbage.pem").write_text("no PEM")
    files = Certificates(tmp_path / certificate, tmp_path / key)
    with pytest.raises(SetupError, match=f"^server\\.{words}" if "_file" in words else words):
        check_certificates("server", files)
    check_certificates("server", certificates(authority, ca=True))


def test_access_and_audit_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    bad = access_file(tmp_path, ACCESS.replace("[read]", "[write]"))
    place = r'access\.yaml: clients\[1\]\.may\[0\]: "write"; expected read'
    with pytest.raises(SetupError, match=place):
        Guard(access_file=bad)
    with pytest.raises(SetupError, match=place):
        check_access_file(bad)
    with pytest.raises(SetupError, match=r"^access\.audit_file: .*absent.*expected a writable"):
        Guard(audit_file=tmp_path / "absent" / "audit.jsonl")


def test_what_is_wrong_with_files_is_logged(tmp_path: Path) -> None:
    path = access_file(tmp_path)
    path.chmod(0o660)
    guarded = Guarded(access_file=path)
    assert guarded.events == [
        "the group of this file may change who has access; expected chmod g-w"
    ]
    assert guarded.records[0].fields == {"file": str(path)}
    authority = Authority(tmp_path)
    for name, days, event in [
        ("soon", 10.0, "certificate expires soon"),
        ("late", -1.0, "certificate expired"),
        ("good", 20.0, None),
    ]:
        guarded.records.clear()
        guarded.guard.client_certificate("gateway", authority.issue(name, days=days)[0])
        guarded.guard.check()
        assert guarded.events == ([event] if event else [])
        if event:
            assert guarded.records[0].fields["use"] == "gateway"
            assert abs(float(guarded.records[0].fields["days_left"]) - days) < 0.2


async def test_without_an_audit_file_lines_go_to_the_log(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    guarded = Guarded(access_file=access_file(tmp_path))
    files = certificates(authority)
    async with (
        grpc_server(guarded, certificates=files) as server,
        secure(server.port, authority, None) as client,
    ):
        assert (await status(unary(client)(b"")))[0] is CODE.UNAUTHENTICATED
    (line,) = [record for record in guarded.records if record.logger == "audit"]
    fields = json.loads(line.event)
    assert fields["outcome"] == "refused: unknown client: no certificate and no token"


def test_rates_and_shares_of_a_client() -> None:
    guard = Guard()
    account = guard.account("a")
    assert isinstance(account, Account)
    assert account == guard.account("a")
    assert len({account, guard.account("a"), guard.account("b")}) == 2
    rate = Rate("controls", 10, 3, "controls")
    assert [account.take(rate) for _ in range(3)] == [None] * 3
    exceeded = account.take(rate)
    assert isinstance(exceeded, Exceeded)
    assert exceeded.detail.startswith("client a: more than 10 controls/s (burst 3); again in ")
    assert 0 < exceeded.retry_s <= 0.1
    pool = Pool(900, alpha=2)
    held = account.hold(pool, "report bytes/s", 600, label="report_load")
    assert isinstance(held, Hold)
    more = account.hold(pool, "report bytes/s", 1, label="report_load")
    assert isinstance(more, Exceeded)
    assert "more than its share of 900 report bytes/s" in more.detail
    held.correct(100)
    assert (pool.held, account.share(pool).held) == (100, 100)
    share = guard.account("b").share(pool)
    assert share.take(500)
    assert not share.take(100)
    share.give(500)
    held.release()
    held.release()
    assert pool.held == 0
    (limited,) = [family for family in guard.metrics() if family.name == "sojourn_limited"]
    assert dict(limited.values) == {
        ("other", "calls"): 0.0, ("a", "controls"): 1.0, ("a", "report_load"): 1.0,
    }  # fmt: skip


def test_an_interpreter_that_ends_with_calls_open_does_so(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import asyncio, sys
            from serving_world import *
            async def waits(call):
                await call.write(b"here")
                await asyncio.Event().wait()
            async def main():
                guarded = Guarded()
                server = GrpcServer(
                    guarded.guard, section="server", listen="localhost:0", service=SERVICE,
                    procedures={"Wait": Procedure(waits, "read", many_responses=True)},
                    descriptors=b"",
                )
                await server.start()
                client = channel(server)
                calls = [client.unary_stream(f"/{SERVICE}/Wait")(b"") for _ in range(20)]
                for call in calls:
                    assert await call.read() == b"here"
                print("open", flush=True)
                for call in calls[:10]:
                    call.cancel()
                sys.stdout.flush()
                if sys.argv[1] == "raise":
                    raise SystemExit(3)
            asyncio.run(main())
            sys.exit(3)
            """
        )
    )
    here = Path(__file__)
    folders = (str(here.parent), str(here.parents[4] / "tests"))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    for how in ("return", "raise"):
        done = subprocess.run(
            (sys.executable, str(program), how),
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.stdout, done.returncode) == ("open\n", 3), done.stderr


@pytest.mark.parametrize("kind", ["asyncio", "uvloop"])
def test_the_loops_of_programs_serve(kind: str) -> None:
    async def main() -> None:
        async with grpc_server(Guarded()) as server, channel(server) as client:
            assert await unary(client)(b"hello") == b"hello"

    factory = None
    if kind == "uvloop":
        factory = pytest.importorskip("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main())
