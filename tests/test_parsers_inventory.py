"""Every function that decodes bytes or text has a property test, or a reason to have none."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
from parser_peers import MOST_BYTES, Peer, hold
from test_parsers_data import ARCHIVES, DATA, MODELS, TRAINING
from test_parsers_files import A1, FILES, LAB, SETTINGS, STATE, YAML
from test_parsers_messages import JSON, MESSAGES, PLAIN, REPORTS, TC

ROOT: Final = Path(__file__).parent.parent
PEERS: Final[list[Peer]] = [
    *(*SETTINGS, YAML, *FILES, *A1, *STATE, *LAB),
    *(*MODELS, *DATA, *TRAINING, *ARCHIVES),
    *(*PLAIN, *JSON, *TC, *REPORTS, *MESSAGES),
]
DECODERS: Final = re.compile(
    r"(json\.loads?|parse_json|yaml\.\w*load\w*|yaml\.parse|parse_yaml|np\.frombuffer|np\.load|csv\.\w+"
    r"|pq\.(ParquetFile|read_\w+)|lzma\.\w+|gzip\.\w+|.*\.unpack(_from)?|unpack|.*\.FromString"
    r"|.*\.ParseFromString|.*\.(model_)?validate_json|load_pem_\w+|text_string_to_metric_families"
    r"|int\.from_bytes|.*\.strptime|.*b64decode|bytes\.fromhex|fromhex|split_address"
    r"|.*\.load_cert_chain|.*\.load_verify_locations)"
)
"""Calls that turn bytes or text into values."""


def packages() -> Iterator[tuple[str, Path]]:
    """Modules of all distributions, with their files."""
    makefile = (ROOT / "Makefile").read_text()
    folders = re.search(r"^PACKAGES := (.*?[^\\])$", makefile, re.MULTILINE | re.DOTALL)
    assert folders is not None
    for folder in (
        *(f"{each}/src" for each in folders[1].replace("\\\n", " ").split()),
        "lab/python/py",
    ):
        src = ROOT / folder
        for path in sorted(src.rglob("*.py")):
            name = ".".join(path.relative_to(src).with_suffix("").parts).removesuffix(".__init__")
            if "_pb2" not in name and ".testing" not in name:
                yield name, path


def decoding() -> Iterator[str]:
    """`module:function` of each function with a call of a decoder."""
    for module, path in packages():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from (f"{module}:{name}" for name in _functions(tree, ""))


def _functions(node: ast.AST, inside: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = (
                ast.unparse(each.func) for each in ast.walk(child) if isinstance(each, ast.Call)
            )
            if any(DECODERS.fullmatch(call) for call in calls):
                yield inside + child.name


OTHERWISE: Final = {
    "flexric_bridge.frames:BlockStream.data_received": (
        "gateway/flexric/bridge/tests/test_reports.py"
    ),
    "rlc_forecaster.wire:BatchLayout.__init__": "xapps/rlc_forecaster/tests/test_wire.py",
    "rlc_forecaster.wire:_Part.__init__": "xapps/rlc_forecaster/tests/test_wire.py",
}
"""Functions with property tests beside them."""
TRUSTED: Final = {
    "what the program itself made or comes with": [
        "ric.grpc_server:_descriptors",
        "ric.security:_write",
        "sojourn_dashboards.kpi.files:write_csv",
        "ric.settings_sources:printable",
        "tc_controller.latency:Recent.summary",
        "rlc_train.dataset.plan:seed_of",
        "rlc_train.lstm.checkpoint:save",
        "sojourn_dashboards.read:_loaded",
    ],
    "a pipe to a child process of the same program": [
        "flexric_bridge.child:Child._next",
        "flexric_bridge.child_process:ChildProcess._ask",
        "flexric_bridge.frames:bytes_of",
        "rlc_model.trial:_judge",
        "sojourn_demo.programs:Program.wait_ready",
    ],
    "addresses and PEM files that were checked as settings, or an error of the library is shown": [
        "ric.beside:_of_own",
        "ric_doctor.probe.endpoint:_context",
        "tc_controller.peer_client:context",
        "tc_controller.peers:_own",
        "tc_controller.peers:targets_of",
        "ric_doctor.probe.port:_connect",
        "ric_doctor.probe.port:_context",
        "ric_doctor.probe.port:_host",
    ],
    "tools of development, on what our programs and Prometheus wrote on this machine": [
        "sojourn_demo.conclusion:_json",
        "sojourn_demo.flexric:tcp_listens",
        "sojourn_demo.kernel.applications:Measured.read",
        "sojourn_demo.kernel.lateness:Lateness.read",
        "sojourn_demo.kernel.setup:Schedule.awaited",
        "sojourn_demo.kernel.setup:Setup.read",
        "sojourn_demo.live:read_decisions",
        "sojourn_demo.live:_sums",
        "sojourn_demo.oai.cell:Cell.status",
        "sojourn_demo.load.flow:receive",
        "sojourn_demo.load.irtt:downlink",
        "sojourn_demo.load.network_quality:_read",
        "sojourn_demo.load.rows:read_rows",
        "sojourn_demo.oai.recorder:Recorder.write",
        "sojourn_demo.oai.run:write_policy",
        "sojourn_demo.ops.stack:Prometheus._get",
        "sojourn_demo.ops.stack:_loaded",
        "sojourn_demo.ops.timeline:Receiver.__init__",
        "sojourn_demo.picture:draw",
        "sojourn_demo.recording:read_recording",
        "sojourn_demo.recording:_table",
        "sojourn_demo.recording:write_scenario",
        "sojourn_demo.responsiveness:read_score",
        "sojourn_dashboards.api:Api.get",
        "sojourn_dashboards.api:_refusal",
        "sojourn_dashboards.check:check",
    ],
}
"""Functions without a property test, by reason."""


def test_every_parser_has_a_property_test() -> None:
    tested = {name for peer in PEERS for name in (peer.parser, *peer.also)}
    trusted = set(chain.from_iterable(TRUSTED.values()))
    found = set(decoding())
    missing = sorted(found - tested - OTHERWISE.keys() - trusted)
    assert missing == [], "add a Peer to tests/test_parsers_*.py"
    assert sorted((OTHERWISE.keys() | trusted) - found) == [], "no longer decodes anything"
    assert not tested & trusted


@pytest.mark.parametrize(("parser", "path"), OTHERWISE.items())
def test_the_other_property_tests_are_there(parser: str, path: str) -> None:
    assert "@given(" in (ROOT / path).read_text(encoding="utf-8"), parser


@pytest.mark.parametrize("peer", PEERS, ids=[peer.parser for peer in PEERS])
def test_a_peer_names_functions_that_exist(peer: Peer) -> None:
    for name in (peer.parser, *peer.also):
        module, _, path = name.partition(":")
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        assert callable(found)


def test_a_parser_that_breaks_the_law_is_found(tmp_path: Path) -> None:
    def raises(data: bytes, _: Path) -> int:
        return 100 // (data == b"x")

    def without_place(data: bytes, _: Path) -> int:
        if data != b"x":
            raise ValueError("wrong")
        return 1

    def grows(data: bytes, _: Path) -> int:
        return len(data if data == b"x" else bytes(MOST_BYTES + 1))

    def changes(data: bytes, _: Path) -> bytes:
        return data + b"y"

    seeds = [b"x"]
    for peer in (
        Peer("a:b", raises, ValueError, "", seeds),
        Peer("a:b", without_place, ValueError, "^input: ", seeds),
        Peer("a:b", grows, ValueError, "", seeds),
        Peer("a:b", changes, ValueError, "", seeds, write=lambda value: value),
    ):
        with pytest.raises((AssertionError, ZeroDivisionError, ExceptionGroup)):
            hold(peer, tmp_path)
