"""Writes the inputs that fuzzing starts from into `corpus`, out of published vectors and examples.

    python tests/fuzz/seeds.py

Files named `regression-…` are inputs that once were findings; they stay.
"""

from __future__ import annotations

import gzip
import json
import lzma
import struct
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from fuzzing import crate_of

ROOT: Final = Path(__file__).resolve().parents[2]
VECTORS: Final = ROOT / "e2sm-tc-spec" / "vectors"
PER_KIND: Final = 5
"""Vectors of a kind of message: the shortest and longest, and some between."""

# Numbers of the messages in the targets.
V0: Final = (
    "control-header",
    "control",
    "control-outcome",
    "event-trigger",
    "indication-header",
    "indication",
)
V1: Final = (
    "action-definition",
    "control-header",
    "control",
    "control-outcome",
    "event-trigger",
    "indication-header",
    "indication",
    "pipeline",
    "ran-function-definition",
)
CONTROL_V1: Final = 9
JSON_KINDS: Final = (
    "control",
    "control-header",
    "control-outcome",
    "event-trigger",
    "action-definition",
    "indication-header",
    "indication",
    "ran-function-definition",
    "pipeline",
)
TEMPLATES: Final = (
    "transparent",
    "bdp_only",
    "fq_codel",
    "drql_forecast",
    "segregate_greedy",
    "flow_slicing",
    "l4s",
    "fq_l4s",
    "cake_diffserv",
    "bode_diffserv",
    "low_latency",
    "classes",
)
TC_V1_OID: Final = "0.0.0.0.0.0.0.0.1.146.1"

Seeds = Iterator[tuple[str, bytes]]


def spread(items: list[Any], count: int) -> list[Any]:
    """Choose up to `count` of the items evenly, with the first and the last."""
    if len(items) <= count:
        return items
    return [items[round(at * (len(items) - 1) / (count - 1))] for at in range(count)]


def vectors(encoding: str) -> Iterator[dict[str, Any]]:
    """Some vectors of each kind of message."""
    kinds: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (VECTORS / f"{encoding}.jsonl").read_text(encoding="utf-8").splitlines():
        vector = json.loads(line)
        kinds[vector["kind"]].append(vector)
    for kind in kinds.values():
        yield from spread(sorted(kind, key=lambda vector: len(vector["hex"])), PER_KIND)


def message(encoding: str, name: str) -> bytes:
    """The bytes of a vector."""
    return next(bytes.fromhex(v["hex"]) for v in vectors(encoding) if v["name"] == name)


def block(content: bytes) -> bytes:
    """The content behind its length, as targets read it."""
    return struct.pack("<H", len(content)) + content


def codecs() -> Seeds:
    """Messages of both encodings, as bytes and as JSON."""
    for encoding, kinds in (("v0", V0), ("v1", V1)):
        for vector in vectors(encoding):
            kind, content = vector["kind"], bytes.fromhex(vector["hex"])
            name = vector["name"]
            yield f"e2sm_tc_{encoding}/{name}", bytes([kinds.index(kind)]) + content
            choice = 2 * JSON_KINDS.index(kind) + (encoding == "v1")
            text = json.dumps(vector["value"], separators=(",", ":"))
            if len(text) < 3000:
                yield f"e2sm_tc_json/{encoding}-{name}", bytes([choice]) + text.encode()
    later = VECTORS.parent / "tests" / "evolution.jsonl"
    for vector in map(json.loads, later.read_text(encoding="utf-8").splitlines()):
        content = bytes([V1.index(vector["kind"])]) + bytes.fromhex(vector["hex"])
        yield f"e2sm_tc_v1/later-{vector['name']}", content
    for header, control in controls():
        content = bytes([CONTROL_V1]) + block(header) + control
        yield f"e2sm_tc_v1/style-{header.hex()}-{len(control)}", content


def controls() -> Iterator[tuple[bytes, bytes]]:
    """Headers and messages of controls."""
    kinds: dict[str, list[bytes]] = defaultdict(list)
    for vector in vectors("v1"):
        kinds[vector["kind"]].append(bytes.fromhex(vector["hex"]))
    for header in kinds["control-header"][:3]:
        for control in kinds["control"][:2]:
            yield header, control


def templates() -> Seeds:
    """Parameters of every template."""
    lines = (VECTORS / "templates.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        vector = json.loads(line)
        text = json.dumps(vector["parameters"], separators=(",", ":"))
        content = bytes([TEMPLATES.index(vector["template"])]) + text.encode()
        yield f"templates/{vector['template']}-{number}", content


def scenarios() -> Seeds:
    """Scenario files and single values."""
    folder = ROOT / "lab" / "scenarios"
    for path in sorted(folder.glob("*.yaml")):
        yield f"scenario/{path.stem}", path.read_bytes()
    settings = {
        "radio": "cell.n_prb=24\ncell.scs_khz=15\ncell.tdd=null\nues[0].channel={fixed_mcs: 28}",
        "lte": "cell={rat: lte, n_prb: 50}\nsplit.core_delay_us=0",
        "am": "ues[0].drbs[0].rlc={mode: am, limit_bytes: 100000}\nues[0].count=3",
        "flows": "flows=[{name: a, kind: udp_cbr, rate_bps: 1000000, packet_bytes: 1200}]",
        "video": "flows=[{name: v, kind: video, video: {}}, {name: w, kind: web, web: {}}]",
        "realtime": (
            "flows=[{name: g, kind: cloud_game, deadline_ms: 9, cloud_game: {rate_bps: 1000000}}, "
            "{name: c, kind: call, call: {audio_kbps: 32}}, "
            "{name: d, kind: download, download: {connections: 3, file_bytes: 5000, "
            "part_bytes: 1000}}, "
            "{name: s, kind: screen, screen: {change_mean_s: 0.01, change_bytes: 2000}}]"
        ),
        "responsiveness": (
            "flows=[{name: r, kind: responsiveness, responsiveness: {connections: 2, interval_ms: "
            "500, probes_per_s: 100, tls: false}}, {name: v, kind: voip, deadline_ms: 1}]"
        ),
        "streams": (
            "flows=[{name: w, kind: web, web: {http: {version: 2, unsent_bytes: 9000}, "
            "reading_mean_s: 0.001, download_bytes: 70000}}, {name: q, kind: web, web: "
            "{http: {version: 3, loss_isolation: false}, download_bytes: 1}}, "
            "{name: v, kind: video, video: {http: {version: 3}, audio_kbps: 64}}]"
        ),
        "tunnel": (
            "tunnels={v: {kind: quic, ip_version: 6, copy_dscp: true}}\nflows[0].tunnel=v\n"
            "flows[1]={name: u, kind: udp_cbr, rate_kbps: 100, packet_bytes: 200, tunnel: v}"
        ),
        "pipeline": "ues[0].drbs[0].pipeline=fq_codel\nseed=18446744073709551615",
        "gauss": "ues[0].channel={gauss_markov: {mean_mcs: 12}}\nduration_s=0.01",
        "mobility": "ues[0].channel={mobility: {pattern: car}}\nsplit.f1={}",
        "fading": "ues[0].channel={fading: {speed_kmh: 30, mean_snr_db: 12}}\nduration_s=0.01",
    }
    for name, text in settings.items():
        yield f"world/{name}", text.encode()


def traces() -> Seeds:
    """Each format of traces, compressed as well."""
    mahimahi = b"1\n1\n2\n7\n\n20\n"
    ucc = (
        b"Timestamp,CQI,SNR,DL_bitrate\n2019.12.14_10.16.30,9,12.0,1500\n"
        b"2019.12.14_10.16.31,-,-,0\n2019.12.14_10.16.33,15,-3,99999\n"
    )
    yield "traces/mahimahi", b"\0" + mahimahi
    for choice, column in enumerate(("cqi", "snr", "bitrate"), start=1):
        yield f"traces/ucc-{column}", bytes([choice]) + ucc
    yield "traces/measured", b"\6" + ucc
    yield "traces/gz", b"\4" + gzip.compress(mahimahi, mtime=0)
    yield "traces/xz", b"\5" + lzma.compress(mahimahi)


def access() -> Seeds:
    """The access files of the shared vectors."""
    text = (ROOT / "gateway/access/vectors/files.yaml").read_text(encoding="utf-8")
    for number, case in enumerate(yaml.safe_load(text)):
        content = f"{case['access']}\n---\n{next(iter(case.get('files', {}).values()), '')}"
        if len(content) < 2000:
            yield f"access_file/{number:02}", content.encode()


def tlv(field: int, content: bytes) -> bytes:
    """A field of Protocol Buffers with a length."""
    return bytes([field << 3 | 2]) + varint(len(content)) + content


def varint(number: int) -> bytes:
    """A number of Protocol Buffers."""
    content = bytearray()
    while number > 0x7F:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*content, number])


def requests() -> Seeds:
    """Subscriptions to every RAN function, and controls."""
    periodic = struct.pack("<I", 2)
    for name, oid in RAN_FUNCTIONS.items():
        asked = tlv(2, oid.encode()) + tlv(3, periodic)
        if name == "kpm":
            asked += tlv(5, b"DRB.UEThpDl") + tlv(5, b"no such measurement")
        yield f"gateway_requests/{name}", b"\0" + block(asked) + b"\3\3\3"
    triggers = [bytes.fromhex(v["hex"]) for v in vectors("v1") if v["kind"] == "event-trigger"]
    actions = [bytes.fromhex(v["hex"]) for v in vectors("v1") if v["kind"] == "action-definition"]
    for number, trigger in enumerate(triggers):
        asked = tlv(2, TC_V1_OID.encode()) + tlv(3, trigger)
        asked += b"".join(tlv(4, action) for action in actions)
        yield f"gateway_requests/tc-v1-{number}", b"\0" + block(asked) + b"\3\3\2\xff\xff"
    for number, (header, control) in enumerate(controls()):
        sent = tlv(3, TC_V1_OID.encode()) + tlv(4, header) + tlv(5, control)
        yield f"gateway_requests/control-{number}", b"\1" + block(sent) + b"\3\3"


RAN_FUNCTIONS: Final = {
    "rlc": "0.0.0.0.0.0.0.0.1.143.0",
    "mac": "0.0.0.0.0.0.0.0.1.142.0",
    "kpm": "1.3.6.1.4.1.53148.1.2.2.2",
    "tc-v0": "0.0.0.0.0.0.0.0.1.146.0",
}


def calls() -> Seeds:
    """A bearer's life, with a template, packets, status, control and reports."""
    add, egress, template, status = b"\1", b"\5", b"\7", b"\4"
    packet = b"\x0f\x09" + b"\x40" + struct.pack("<H", 1400) + b"\1\2"
    rlc = status + b"\1" + struct.pack("<HIHIH", 0, 3000, 2, 5000, 500) + bytes(38)
    for number in range(len(TEMPLATES)):
        life = add + template + bytes([number]) + packet * 4 + rlc + egress + b"\0\x0a" + egress
        life += b"\x09" + b"\x0a\5\0" + b"\x0b" + b"\3\2" + b"\2"
        yield f"tc_rf_calls/template-{number:02}", b"\1" + life
    for number, (header, control) in enumerate(controls()):
        content = b"\1" + add + b"\x08" + block(header) + block(control) + packet + rlc + egress
        yield f"tc_rf_calls/control-{number}", content


def others() -> Seeds:
    """Arrays, AQM cases, PDUs, certificates."""
    for choice in range(6):
        yield f"rlc_native/{choice}", bytes([choice]) + bytes([2, 1, 2] * 40)
    events = [
        {"t_us": 0, "enq": {"flow": 0, "size": 1500, "ecn": "ect-0"}},
        {"t_us": 300000, "deq": 1},
    ]
    for kind in ("fifo", "codel", "fq_codel"):
        case = {"id": 1, "queue": {"kind": kind}, "events": events}
        yield f"replay_aqm/{kind}", json.dumps(case).encode()
    disciplines = [
        json.loads(line)["value"]["queues"]
        for line in (VECTORS / "v1.jsonl").read_text(encoding="utf-8").splitlines()
        if json.loads(line)["kind"] == "pipeline"
    ]
    for number, queues in enumerate(spread(disciplines, 12)):
        case = {"id": number, "queues": queues, "events": events}
        text = json.dumps(case, separators=(",", ":"))
        if len(text) < 2000:
            yield f"replay_aqm/queues-{number:02}", text.encode()
    yield "radio_pdus/status-12", bytes([0, 0x01, 0x23, 0x80, 0x12, 0x34, 0, 0, 0, 9])
    yield "radio_pdus/status-18", bytes([1, 0x04, 0x8D, 0x00])
    delivery = bytes.fromhex("1f080000000500000006020000070000090fffff00000111223300a0b0c000")
    yield "radio_pdus/delivery", b"\2" + delivery
    all_fields = (
        delivery[:1] + b"\x1f" + delivery[2:29] + bytes([3] + 6 * [7] + [1] + 6 * [8] + 3 * [0])
    )
    yield "radio_pdus/delivery-all", b"\2" + all_fields
    pem, key, der = certificate()
    yield "certificates/server", block(pem) + block(key)
    yield "certificates/server-with-ca", block(pem) + block(key) + block(pem)
    yield "certificates/shown", block(b"") + block(b"") + block(b"") + der


def certificate() -> tuple[bytes, bytes, bytes]:
    """A certificate and its key as PEM, and the certificate as DER; the same each time."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gateway")])
    names = [x509.DNSName("gateway.example"), x509.UniformResourceIdentifier("spiffe://example")]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, None)
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return made.public_bytes(Encoding.PEM), secret, made.public_bytes(Encoding.DER)


def main() -> None:
    """Writes all seeds."""
    for source in (codecs, templates, scenarios, traces, access, requests, calls, others):
        for name, content in source():
            path = crate_of(name.partition("/")[0]) / "corpus" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


if __name__ == "__main__":
    main()
