"""Property tests of what programs read from files, environment and flags."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import e2sm_tc
import pytest
from flexric_bridge.budget import Budget
from flexric_bridge.settings import BridgeSettings
from flexric_bridge.tc import in_force
from flexric_bridge.tc.node_lease import NodeLease
from gnb_lab import SweepError
from gnb_lab.measures import CURVES_FILE, SUMMARY_FILE, RecordedRun, read_run
from gnb_lab.sweeps.axis import Axis, canonical
from gnb_lab.sweeps.identity import read_description
from gnb_lab.sweeps.order import Order
from gnb_lab.tables import TableError, read
from parser_peers import Peer, each, hold
from pydantic import BaseModel
from ric.access import read_token
from ric.bounded_yaml import YamlError, parse_yaml
from ric.endpoint_settings import read_pem, split_address
from ric.errors import SettingsError
from ric.flags import ProgramParser, add_settings_arguments
from ric.settings_sources import printable, read_yaml_mapping, settings_from
from ric.state_file import StateError, read_document
from rlc_forecaster.settings import ForecasterSettings
from tc_controller.a1.identities import load_identities
from tc_controller.a1.store import StatementError, instance
from tc_controller.core.act.kept_states import StateError as CoreStateError
from tc_controller.core.act.reconcile import DesiredStore
from tc_controller.decision_log import read_log
from tc_controller.policy_file import PolicyError, load_policy
from tc_controller.policy_source import default_policy
from tc_controller.settings import ControllerSettings
from tc_evaluate.campaign import read_results
from tc_evaluate.errors import EvaluationError
from tc_evaluate.situation import find_situations

PROGRAMS = {
    "tc-controller": ControllerSettings,
    "rlc-forecaster": ForecasterSettings,
    "flexric-bridge": BridgeSettings,
}


def written(content: bytes, path: Path) -> Path:
    path.write_bytes(content)
    return path


def settings_file(schema: Any, parser: ProgramParser, data: bytes, path: Path) -> Any:
    given = parser.parse_args(["--config", str(written(data, path))])
    return settings_from(schema, given, environment={})


def parser_of(schema: Any) -> ProgramParser:
    parser = ProgramParser(prog="x")
    add_settings_arguments(parser, schema, prefix="SOJOURN")
    return parser


def same_again(value: BaseModel) -> None:
    """A model accepts what it holds."""
    given = value.model_dump(by_alias=True, exclude_unset=True)
    assert type(value).model_validate(given) == value


SETTINGS = [
    Peer(
        "ric.settings_sources:settings_from",
        partial(settings_file, schema, parser_of(schema)),
        SettingsError,
        r"^(input|/.*input)(: |\n|$)",
        [printable(schema()), b"log: {level: debug}\n"],
        check=same_again,
        words=[b"gateway", b"http:", b"tls", b"listen"],
        also=[
            "ric.settings_sources:read_yaml_mapping",
            "ric.settings_sources:_parse_text",
            "ric.endpoint_settings:ClientSettings._address",
            "ric.endpoint_settings:ServerSettings._listen",
            "ric.endpoint_settings:is_local",
        ],
    )
    for schema in PROGRAMS.values()
]
TOKEN = b"0123456789abcdef" * 2 + b"\n"


def text_of(data: bytes) -> str:
    """UTF-8; other bytes are refused before a parser sees them."""
    return data.decode("utf-8", "replace")


def as_yaml(value: Any) -> bytes:
    """JSON in ASCII is YAML, but for pairs of surrogates and the one unprintable character."""
    text = json.dumps(value).replace("\x7f", "\\x7f")
    pair = r"\\u(d[89ab]..)\\u(d[c-f]..)"
    return re.sub(pair, lambda found: _one(*found.groups()), text).encode()


def _one(high: str, low: str) -> str:
    code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00
    return f"\\U{code:08x}"


YAML = Peer(
    "ric.bounded_yaml:parse_yaml",
    lambda data, _: parse_yaml(text_of(data)),
    YamlError,
    r"^(line \d+: |not YAML: |.*expected|more than|nested)",
    [
        b"a: [1, 0x1f, 0o17, 1.5, ~, yes]\nb: &x {c: 'd'}\ne: *x\n<<: {f: 1}\n",
        {"a": [1, 2.5, None, True, {"b": "c"}]},
        b"- |\n  text\n- >\n  folded\n- ? complex\n  : value\n",
    ],
    write=as_yaml,
)
FILES = [
    Peer(
        "ric.settings_sources:read_yaml_mapping",
        lambda data, path: read_yaml_mapping(written(data, path)),
        SettingsError,
        r"^(input: |/.*/input: )",
        [b"a: 1\n", {"a": {"b": [1]}}],
        check=lambda value: isinstance(value, dict) or pytest.fail("no mapping"),
    ),
    Peer(
        "ric.access.token_file:read_token",
        lambda data, path: read_token(written(data, path), "token_file"),
        SettingsError,
        "^token_file: /.*input: ",
        [TOKEN, b"x" * 512],
        write=lambda token: token + b"\n",
    ),
    Peer(
        "ric.endpoint_settings:read_pem",
        lambda data, path: read_pem("server.key_file", written(data, path)),
        SettingsError,
        "^server.key_file: /.*input: ",
        [b"-----BEGIN X-----\nAA==\n-----END X-----\n"],
        write=lambda pem: pem,
    ),
    Peer(
        "ric.endpoint_settings:split_address",
        lambda data, _: split_address(text_of(data)),
        ValueError,
        "expected host:port",
        [b"localhost:1", b"[::1]:65535", b"unix:/run/x", b"127.0.0.1:0"],
        words=[b"[", b"]", b":", b"65536", "²".encode()],
    ),
    Peer(
        "ric.state_file:read_document",
        lambda data, path: read_document(written(data, path)),
        StateError,
        "^/.*/input: ",
        [{"version": 1, "x": [1, {"y": None}]}],
        write=lambda document: json.dumps(document).encode(),
        also=["bounded_input.json_text:parse_json"],
    ),
    Peer(
        "tc_controller.policy_file:parse_policy",
        lambda data, path: load_policy(written(data, path)),
        PolicyError,
        "^(/.*/)?input: ",
        [default_policy().read_bytes(), parse_yaml(default_policy().read_text())],
        check=same_again,
        also=["tc_controller.policy_file:load_policy"],
    ),
    Peer(
        "tc_controller.a1.identities:load_identities",
        lambda data, path: load_identities(written(data, path)),
        SettingsError,
        "^/.*/input",
        [{"ues": [{"ueId": {"a": 7}, "node": "g", "rnti": 1}], "qfis_of_5qi": {"9": [1]}}],
        check=same_again,
    ),
]


class NotJsonError(ValueError):
    """The input of a parser of values is not JSON: that is refused before."""


def json_of(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotJsonError(f"not JSON: {error}") from None


A1 = [
    Peer(
        "tc_controller.a1.store:instance",
        lambda data, _, kind=kind: instance(kind, json_of(data)),  # type: ignore[misc]
        (StatementError, NotJsonError),
        "^policy|^not JSON",
        [body],
        check=lambda value: same_again(value.statement),
    )
    for kind, body in {
        "ORAN_QoSTarget_6.0.0": {"scope": {"qosId": {"5qI": 9}}, "qosObjectives": {"pdb": 20}},
        "ORAN_UELevelTarget_5.0.0": {
            "scope": {"ueId": {"guAmfUeNgapId": {"amfUeNgapId": 7}}},
            "ueLevelObjectives": {"dlPacketDelay": 500},
        },
        "ORAN_SliceSLATarget_4.0.1": {
            "scope": {"sliceId": {"sst": 1, "sd": "010203"}},
            "sliceSlaObjectives": {"maxDlPacketDelayPerUe": 5},
        },
    }.items()
]
PIPELINE = e2sm_tc.pipeline("fq_codel", {})
LEASE = {"owner": "a", "ends_at_us": 5, "term": 1}
IN_FORCE = {
    "revision": 3,
    "pipeline": None,
    "base": 0,
    "lease_ends_at_us": 1_700_000_000_000_000,
    "owner": "a",
}
BUDGET = {"used": 5, "sessions": 1, "newest_session": 2, "clean": True}
DESIRED = {
    "node": "gnb",
    "rnti": 1,
    "drb": 1,
    "rule": "all",
    "rung": 0,
    "template": "fq_codel",
    "pipeline": PIPELINE,
    "revision": 2,
    "as_safe": True,
}
RESULT = {
    "situation": "a",
    "seed": 1,
    "arm": "controller",
    "goodput_mbps": 1.5,
    "ping_p95_ms": 2.5,
    "bloat_s": 0.0,
    "power": 0.6,
    "transactions": 1,
    "rollbacks": 0,
    "inputs": "ab",
}
SITUATION = {
    "name": "x",
    "duration_s": 2,
    "seed": 3,
    "ues": [{"rnti": 1, "channel": {"fixed_mcs": 10}, "drbs": [{"id": 1}]}],
    "flows": [{"name": "p", "kind": "ping", "interval_ms": 100}],
}


SITUATIONS = b"""base: {duration_s: 1, flows: [{kind: ping}, {kind: tcp}]}
situations:
  one: {seed: 3, "flows[0].interval_ms": 20}
  two: {"flows[*].rnti": each, cell.tdd: null}
"""


def budget(value: Any) -> dict[str, Any]:
    read = Budget(1000, 100)
    read.load(value)
    return {**read.to_json(clean=True), "used": read.before}


def desired(value: Any) -> dict[str, Any]:
    store = DesiredStore()
    store.load(value)
    return store.document()


def situation(data: bytes, path: Path) -> Any:
    found, _ = find_situations([written(data, path)], None)
    return found


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


STATE = [
    Peer(
        "flexric_bridge.tc.in_force:from_json",
        lambda data, _: in_force.from_json(json_of(data), 8, 8),
        ValueError,
        "expected|^not JSON|^[A-Za-z]+Error: |pipeline|^value",
        [IN_FORCE, {**IN_FORCE, "lease_ends_at_us": None, "owner": None}],
        write=lambda value: as_json(value.to_json()),
    ),
    Peer(
        "flexric_bridge.tc.node_lease:NodeLease.from_json",
        lambda data, _: NodeLease.from_json(json_of(data)),
        ValueError,
        "^node_lease: |^not JSON",
        [LEASE],
        write=lambda value: as_json(value.to_json()),
    ),
    Peer(
        "flexric_bridge.budget:Budget.load",
        lambda data, _: budget(json_of(data)),
        ValueError,
        "^budget: |^not JSON",
        [BUDGET],
        write=as_json,
    ),
    Peer(
        "tc_controller.core.act.reconcile:DesiredStore.load",
        lambda data, _: desired(json_of(data)),
        (CoreStateError, NotJsonError),
        r"^(desired|kept|trials)(\[|: )|^expected an object|^not JSON",
        [{"version": 1, "desired": [DESIRED], "kept": [], "trials": [{"node": "g", "rule": "a"}]}],
        write=as_json,
    ),
    Peer(
        "tc_controller.decision_log:record_of",
        lambda data, path: list(read_log(written(data, path))),
        (),
        "",
        [b'{"event": "decided", "id": "a"}\n{"event": "verified"}\n', b'{"event": 1}\nhalf'],
        write=lambda records: b"".join(as_json(record) + b"\n" for record in records),
    ),
    Peer(
        "tc_evaluate.campaign:read_results",
        lambda data, path: read_results(written(data, path)),
        EvaluationError,
        "^/.*/input: ",
        [RESULT, as_json(RESULT) + b"\n" + as_json(RESULT)],
        write=lambda results: b"\n".join(as_json(each.as_dict()) for each in results),
    ),
    Peer(
        "tc_evaluate.situation:find_situations",
        situation,
        EvaluationError,
        "^/.*/input: ",
        [SITUATION, b"duration_s: 1\nflows: [{kind: ping}]\n", SITUATIONS],
        check=lambda found: found[0].duration_s > 0 or pytest.fail("no end"),
        also=["tc_evaluate.scenario_files:_scenarios_of"],
    ),
]


SAMPLE = Path(__file__).parent.parent / "datasets" / "sample"
ORDER = {
    "folder": "out/runs/seed=1",
    "inputs": [{"path": "a.gz", "source": "/traces/a.gz", "name": "0f.gz"}],
    "digest": "1f",
    "program": "2f",
    "formats": ["parquet", "csv"],
    "packets": False,
    "file": "scenario.yaml",
    "scenario": {"duration_s": 1, "ues": [{"channel": {"mahimahi": {"path": "a.gz"}}}]},
}
SWEEP = {
    "program": "2f",
    "formats": ["parquet"],
    "packets": False,
    "scenario": {"duration_s": 1},
    "axes": ["cell.n_prb"],
    "runs": [{"folder": "n_prb=51,seed=1-0f", "values": [51], "seed": 1}],
}
DELAY = {"count": 3, "mean": 1.5, "p50": 1.0, "p95": 2.0, "p99": 2.5}
RECORDED = {
    "seed": 1,
    "duration_s": 2.0,
    "cell": {"used_rb_pct": 40.5},
    "bearers": [
        {
            **{"rnti": 17921, "drb": 1, "tc_dropped_packets": 1, "tc_marked_packets": 2},
            **{"rlc_dropped_packets": 3, "f1_lost_packets": 4, "rlc_hol_ms": DELAY},
            "queued_bytes": {"mean": 1000.5, "peak": 9000},
        }
    ],
    "flows": [
        {
            **{"name": "bulk", "direction": "down", "rnti": 17921, "drb": 1},
            **{"goodput_bytes": 9000, "ce_packets": 2},
            **{"goodput_mbps": 0.036, "lost_packets": 4, "tc_dropped_packets": 1},
            **{"deadline": {"in_time_pct": 99.5}, "one_way_delay_ms": DELAY, "rtt_ms": DELAY},
            "app": {"mos": 4.1},
        }
    ],
    "sojourn": [
        {"flow": "bulk", "rnti": 17921, "drb": 1, "steps_us_packets": [[1000, 5], [9000, 1]]}
    ],
}
"""Summary and curves of a run in one."""


def axis_again(axis: Axis) -> None:
    """The values of an axis written one by one give the same axis; YAML wants other characters
    escaped than JSON."""
    written = [canonical(value) for value in axis.values[:64]]
    for text in filter(lambda text: text.isascii() and text.isprintable(), written):
        (value,) = Axis.parse(f"{axis.path}={text}").values
        assert canonical(value) == text


def recorded(data: bytes, path: Path) -> RecordedRun:
    for name in (SUMMARY_FILE, CURVES_FILE):
        path.with_name(name).write_bytes(data)
    return read_run(path.parent)


def table_of_run(data: bytes, path: Path) -> Any:
    path.with_name(SUMMARY_FILE).touch()
    path.with_name("bearers.parquet").write_bytes(data)
    return read(path.parent)


def described(data: bytes, path: Path) -> Any:
    path.with_name("sweep.json").write_bytes(data)
    return read_description(path.parent)


LAB = [
    Peer(
        "gnb_lab.sweeps.axis:Axis.parse",
        lambda data, _: Axis.parse(data.decode(errors="replace")),
        SweepError,
        "^--over: ",
        [
            b"ues[*].drbs[*].pipeline=fq_codel,low_latency",
            b"ues[*].channel.fixed_mcs=4..20..4",
            b"duration_s=0.1..0.5..0.1,1",
            b"p={template: low_latency, bulk_bound_us: 100000},[1, 2],true",
            b"""p="a\\",b",'it'',s',null""",
            b"a[0][1]=1..100000",
        ],
        check=axis_again,
        words=[b"..", b"=", b"[*]", b"''", b'\\"', b".nan", b"1..100000", b"a." * 40],
    ),
    Peer(
        "gnb_lab.sweeps.order:Order.parse",
        lambda data, _: Order.parse(data.decode(errors="replace")),
        SweepError,
        "^order of a run: ",
        [ORDER],
        write=lambda order: order.line().encode(),
    ),
    Peer(
        "gnb_lab.sweeps.identity:read_description",
        described,
        SweepError,
        r"^/.*/sweep\.json: ",
        [SWEEP],
        write=as_json,
        also=["gnb_lab.results:read_json"],
    ),
    Peer(
        "gnb_lab.tables:_parquet",
        table_of_run,
        TableError,
        r"^/.*/bearers\.parquet: ",
        [next(SAMPLE.rglob("*.parquet")).read_bytes()],
        check=lambda table: table.num_columns,
    ),
    Peer(
        "gnb_lab.measures:read_run",
        recorded,
        SweepError,
        "^/.*: ",
        [RECORDED],
        check=lambda run: (
            all(
                isinstance(value, float)
                for values in run.measures.values()
                for value in values.values()
            )
            or pytest.fail("a measure that is no number")
        ),
    ),
]


@each([*SETTINGS, YAML, *FILES, *A1, *STATE, *LAB])
def test_any_input_ends_in_a_value_or_a_typed_error(peer: Peer, tmp_path: Path) -> None:
    hold(peer, tmp_path)
