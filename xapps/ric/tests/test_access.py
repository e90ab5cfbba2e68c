"""The access file and decisions by it, against the vectors shared with the emulated gNB."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ric.access import (
    Access,
    AuditLog,
    Caller,
    Peer,
    Refusal,
    Right,
    access_schema,
    bearer_token,
    read_access_file,
)
from ric.certificates import certificate_names
from ric.errors import SettingsError
from ric.limits import Limits
from sojourn_interfaces import check_identifiers
from structlog.testing import capture_logs

VECTORS = Path(__file__).resolve().parents[3] / "gateway" / "access" / "vectors"
FILES: list[dict[str, Any]] = yaml.safe_load((VECTORS / "files.yaml").read_text())
DECISIONS: dict[str, Any] = yaml.safe_load((VECTORS / "decisions.yaml").read_text())
CERTIFICATES: list[dict[str, Any]] = yaml.safe_load((VECTORS / "certificates.yaml").read_text())
BOUNDS: dict[str, list[dict[str, Any]]] = yaml.safe_load((VECTORS / "audit.yaml").read_text())
DER = [ssl.PEM_cert_to_DER_cert(case["pem"]) for case in CERTIFICATES]
TOKEN = "0123456789abcdef0123456789abcdef"


class HandClock:
    """A wall clock that a test sets."""

    def __init__(self) -> None:
        self.us = 1_764_072_000_000_000

    def now_us(self) -> int:
        return self.us

    def monotonic_ns(self) -> int:
        return self.us * 1000

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def written(
    directory: Path,
    text: str,
    files: dict[str, str] | None = None,
    modes: dict[str, str] | None = None,
) -> Path:
    path = directory / "access.yaml"
    for name, content in {path.name: text, **(files or {})}.items():
        (directory / name).write_text(content)
        (directory / name).chmod(int((modes or {}).get(name, "0644"), 8))
    return path


def callers(access: Access, request: dict[str, Any]) -> Caller:
    names = tuple(request.get("certificate", ()))
    token = request.get("token")
    if "authorization" in request:
        token = bearer_token(request["authorization"])
    return access.caller(Peer("grpc", "10.0.0.7:4711", names, token))


@pytest.mark.parametrize("case", FILES, ids=lambda case: case["name"])
def test_the_parser_agrees_with_the_vectors(case: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path, case["access"], case.get("files"), case.get("modes"))
    if "error" not in case:
        read_access_file(path)
        return
    with pytest.raises(SettingsError) as refused:
        read_access_file(path)
    place = f"{path}: {case['error']}: " if case["error"] else f"{path}: "
    assert refused.value.problems[0].startswith(place)
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize("request_", DECISIONS["requests"], ids=str)
def test_decisions_agree_with_the_vectors(request_: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path, DECISIONS["access"], DECISIONS["files"])
    access = Access(path, AuditLog(None, HandClock()), Limits(HandClock()))
    caller = callers(access, request_)
    refusal = caller.refusal(Right(request_["right"]), request_.get("node", ""))
    outcome = request_["outcome"]
    if refusal is None:
        assert caller.who == outcome
    else:
        assert refusal.reason == outcome
        assert access.refused["grpc", refusal.reason] == 1


@given(text=st.one_of(st.text(), st.binary().map(lambda raw: raw.decode("latin-1"))))
def test_any_text_is_accepted_or_refused_with_its_place(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    read(tmp_path_factory.getbasetemp() / "any.yaml", text.encode("utf-8", "surrogatepass"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["name", "certificates", "token_file", "may", "nodes"])


@given(client=st.dictionaries(KEYS, VALUES | st.just(["read"]) | st.just("a\0b")))
def test_any_client_is_accepted_or_refused_with_its_place(
    client: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    document = yaml.safe_dump({"clients": [client]})
    read(tmp_path_factory.getbasetemp() / "client.yaml", document.encode("utf-8", "surrogatepass"))


def read(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        read_access_file(path)
    except SettingsError as error:
        assert all(problem.startswith(str(path)) for problem in error.problems)


def test_the_committed_schema_is_that_of_the_parser() -> None:
    path = VECTORS.parent / "access.schema.json"
    assert path.read_text() == access_schema(), "write ric.access.access_schema() to it"


def test_many_wildcards_are_matched_in_no_time(tmp_path: Path) -> None:
    nodes = [f"{'*a' * 100}b"]
    clients = [{"name": "a", "certificates": ["a"], "may": ["read"], "nodes": nodes}]
    access = Access(
        written(tmp_path, yaml.safe_dump({"clients": clients})),
        AuditLog(None, HandClock()),
        Limits(HandClock()),
    )
    assert not access.caller(Peer("grpc", "", ("a",))).sees("a" * 5000)


@pytest.mark.parametrize("size", ["clients", "bytes", "names"])
def test_a_file_has_bounds(size: str, tmp_path: Path) -> None:
    count = 257 if size == "clients" else 1
    names = ["c"] * 65 if size == "names" else ["c"]
    clients = [
        {"name": f"c{index}", "certificates": [f"{index}", *names], "may": ["read"]}
        for index in range(count)
    ]
    text = yaml.safe_dump({"clients": clients}) + ("#" * 300_000 if size == "bytes" else "")
    with pytest.raises(SettingsError):
        read_access_file(written(tmp_path, text))


# ------------------------------------------------------------------------------- reload

FIRST = "clients: [{name: a, certificates: [a], may: [read, subscribe]}]"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[AuditLog]:
    log = AuditLog(tmp_path / "audit.jsonl", HandClock())
    yield log
    log.close()


def test_a_changed_file_is_reread_and_a_bad_one_kept_out(tmp_path: Path, log: AuditLog) -> None:
    path = written(tmp_path, FIRST)
    access = Access(path, log, Limits(HandClock()))
    caller = access.caller(Peer("grpc", "", ("a",)))
    assert caller.refusal(Right.CONTROL) is not None
    path.write_text(FIRST.replace("read,", "read, control,"))
    access.check()
    assert caller.refusal(Right.CONTROL) is None
    for _ in range(2):
        path.write_text("clients: [")
        access.check()
    assert access.reload_failures == 1
    assert caller.refusal(Right.CONTROL) is None
    assert [line["outcome"][:8] for line in lines(tmp_path) if line["action"] == "reload"] == [
        "accepted",
        "rejected",
    ]


def test_a_renewed_token_is_reread(tmp_path: Path, log: AuditLog) -> None:
    text = "clients: [{name: a, token_file: a.token, may: [read]}]"
    access = Access(written(tmp_path, text, {"a.token": TOKEN}), log, Limits(HandClock()))
    old, new = TOKEN, TOKEN[::-1]
    (tmp_path / "a.token").write_text(new)
    access.check()
    assert access.caller(Peer("http", "", token=old)).refusal(Right.READ) is not None
    assert access.caller(Peer("http", "", token=new)).refusal(Right.READ) is None


def test_a_right_that_is_taken_is_reported_to_whoever_uses_it(
    tmp_path: Path, log: AuditLog
) -> None:
    path = written(tmp_path, FIRST)
    access = Access(path, log, Limits(HandClock()))
    lost: list[Refusal] = []
    caller = access.caller(Peer("grpc", "", ("a",)))
    with caller.watch(Right.SUBSCRIBE, "gnb-1", lost.append):
        path.write_text(FIRST.replace("]}", "], nodes: [gnb-1]}"))
        access.check()
        assert lost == []
        path.write_text(FIRST.replace("]}", "], nodes: [gnb-2]}"))
        access.check()
    assert [refusal.reason for refusal in lost] == ["node"]
    path.write_text(FIRST)
    access.check()
    assert len(lost) == 1


def test_without_a_file_everyone_may_do_everything() -> None:
    access = Access(None, AuditLog(None, HandClock()), Limits(HandClock()))
    assert access.caller(Peer("grpc", "127.0.0.1:1")).refusal(Right.CONTROL, "gnb-1") is None
    stranger = access.caller(Peer("http", "10.0.0.1:1", must_be_certified=True))
    refusal = stranger.refusal(Right.READ)
    assert refusal is not None
    assert refusal.detail == "unknown client: no certificate and no token"


def test_messages_show_what_the_client_showed_and_no_token(tmp_path: Path, log: AuditLog) -> None:
    access = Access(written(tmp_path, FIRST), log, Limits(HandClock()))
    hostile = access.caller(Peer("grpc", "", ("evil\n\x1b[31m", "x" * 500)))
    refusal = hostile.refusal(Right.READ)
    assert refusal is not None
    assert refusal.detail.startswith("unknown client: certificate evil\\n\\x1b[31m, xxx")
    assert len(refusal.detail) < 300
    known = access.caller(Peer("grpc", "", ("a",))).refusal(Right.CONTROL)
    assert known == Refusal("right", "client a: no right to control")
    guess = access.caller(Peer("grpc", "", token="secret")).refusal(Right.READ)
    assert guess == Refusal("unauthenticated", "unknown client: token not known")
    assert "secret" not in (tmp_path / "audit.jsonl").read_text()


# ------------------------------------------------------------------------------- audit


def lines(directory: Path) -> list[dict[str, Any]]:
    text = (directory / "audit.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_says_who_did_what_to_which_node(tmp_path: Path, log: AuditLog) -> None:
    access = Access(written(tmp_path, FIRST), log, Limits(HandClock()))
    access.caller(Peer("grpc", "10.0.0.7:4711", ("a",))).audit(
        "control", "accepted", node="gnb-1", ran_function="1.2.3", what="transaction"
    )
    assert lines(tmp_path) == [
        {
            "at": "2025-11-25T12:00:00.000000Z",
            "who": "a",
            "peer": "10.0.0.7:4711",
            "action": "control",
            "node": "gnb-1",
            "ran_function": "1.2.3",
            "what": "transaction",
            "outcome": "accepted",
        }
    ]


@pytest.mark.parametrize("case", BOUNDS["identifiers"], ids=str)
def test_identifiers_are_bounded_as_in_the_vectors(case: dict[str, Any]) -> None:
    text = case["text"] * case["times"]
    if case["accepted"]:
        check_identifiers(node_id=text)
        return
    with pytest.raises(ValueError, match=r"^node_id: .*; expected at most 256 bytes without"):
        check_identifiers(node_id=text)


@pytest.mark.parametrize("case", BOUNDS["fields"], ids=str)
def test_fields_of_a_line_are_bounded_as_in_the_vectors(
    case: dict[str, Any], tmp_path: Path, log: AuditLog
) -> None:
    text = case["text"] * case["times"]
    log.write(who="a", action="control", outcome=text, node=text, what=text)
    cut = "" if case["kept"] == len(text) else "…"
    (line,) = lines(tmp_path)
    assert {line["outcome"], line["node"], line["what"]} == {text[: case["kept"]] + cut}


def test_attempts_without_effect_are_as_seldom_as_refusals(tmp_path: Path, log: AuditLog) -> None:
    caller = Access(written(tmp_path, FIRST), log, Limits(HandClock())).caller(
        Peer("grpc", "", ("a",))
    )
    for _ in range(1000):
        caller.audit("control", "rejected: no node 'x'", node="x", limited=True)
    caller.audit("control", "accepted", node="gnb-1")
    assert [line["outcome"] for line in lines(tmp_path)] == ["rejected: no node 'x'", "accepted"]


def test_a_file_that_its_group_may_write_is_reported_once(tmp_path: Path, log: AuditLog) -> None:
    path = written(tmp_path, FIRST, modes={"access.yaml": "0664"})
    with capture_logs() as logged:
        access = Access(path, log, Limits(HandClock()))
        access.check()
    assert [line["file"] for line in logged if line["log_level"] == "warning"] == [str(path)]


def test_refusals_are_limited_to_one_a_second_and_client(tmp_path: Path) -> None:
    clock = HandClock()
    log = AuditLog(tmp_path / "audit.jsonl", clock)
    for second in range(3):
        for _ in range(100):
            log.refused(who="a", reason="no right", peer="10.0.0.1:1")
        log.refused(who=f"b{second}", reason="no right", peer="10.0.0.2:1")
        clock.us += 1_000_000
    log.close()
    assert [(line["who"], line.get("left_out", 0)) for line in lines(tmp_path)] == [
        ("a", 0), ("b0", 0), ("a", 99), ("b1", 0), ("a", 99), ("b2", 0),
    ]  # fmt: skip


def test_a_rotated_log_continues_in_a_new_file(tmp_path: Path, log: AuditLog) -> None:
    path = tmp_path / "audit.jsonl"
    log.write(who="a", action="control", outcome="accepted")
    path.rename(tmp_path / "audit.jsonl.1")
    log.write(who="b", action="control", outcome="accepted")
    assert [line["who"] for line in lines(tmp_path)] == ["b"]


def test_a_log_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"access\.audit_file: .*; expected a writable file"):
        AuditLog(tmp_path / "absent" / "audit.jsonl", HandClock())


def test_a_log_that_cannot_be_written_does_not_stop_the_program(
    tmp_path: Path, log: AuditLog
) -> None:
    (tmp_path / "audit.jsonl").unlink()
    (tmp_path / "audit.jsonl").mkdir()
    with capture_logs() as logged:
        for _ in range(2):
            log.write(who="a", action="control", outcome="accepted")
    assert [line["event"] for line in logged] == ["audit log not written", "audit", "audit"]
    assert logged[2]["who"] == "a"
    assert log.failures == 2


def test_a_line_that_a_full_disk_cuts_does_not_affect_the_next(
    tmp_path: Path, log: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with monkeypatch.context() as full, capture_logs() as logged:
        full.setattr("ric.access.audit.os.write", lambda number, data: write(number, data[:20]))
        log.write(who="a", action="control", outcome="accepted")
    assert [line["event"] for line in logged] == ["audit log not written", "audit"]
    log.write(who="b", action="control", outcome="accepted")
    cut, whole = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert len(cut) == 20
    assert json.loads(whole)["who"] == "b"
    assert log.failures == 1


@pytest.mark.parametrize("case", CERTIFICATES, ids=[case["name"] for case in CERTIFICATES])
def test_names_are_those_of_the_shared_certificates(case: dict[str, Any]) -> None:
    assert certificate_names(ssl.PEM_cert_to_DER_cert(case["pem"])) == tuple(case["names"])


@given(
    st.sampled_from(DER),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=6),
    st.floats(0, 1),
)
def test_any_certificate_has_names_or_none(
    der: bytes, changes: list[tuple[float, int]], kept: float
) -> None:
    changed = bytearray(der)
    for where, value in changes:
        changed[round(where * (len(changed) - 1))] = value
    for data in (bytes(changed), der[: round(kept * len(der))], b""):
        assert all(isinstance(name, str) for name in certificate_names(data))
