"""The plain layout, implemented independently with `struct`."""

import struct
from typing import Any

import e2sm_tc
import pytest

KIND_OF_OBSERVED: dict[str, e2sm_tc.Kind] = {
    "ctrl_msg": "control",
    "ind_msg": "indication",
    "event_trigger": "event-trigger",
    "ctrl_hdr": "control-header",
    "ctrl_out": "control-outcome",
}

STAGES = ["CLS", "PLC", "QUEUE", "SCH", "SHP", "PCR"]
ACTIONS = ["ADD", "DEL", "MOD"]
CLASSIFIERS = ["RR", "OSI", "STO"]
QUEUES = ["FIFO", "CODEL", "ECN_CODEL"]
SCHEDULERS = ["RR", "PRIO"]
PACERS = ["DUMMY", "5G_BDP"]


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def listed(values: list[int]) -> bytes:
    return u32(len(values), *values)


def filter_rule(rule: dict[str, int]) -> bytes:
    return struct.pack("<I4xqqiiiIi4x", *rule.values())


def meter(value: dict[str, Any]) -> bytes:
    return struct.pack("<fI", value["bnd_flt"], value["time_window_ms"])


def classifier_body(value: dict[str, Any]) -> bytes:
    match value:
        case {"dummy": dummy}:
            return u32(dummy)
        case {"filter_id": filter_id}:
            return u32(filter_id)
        case {"filter": rule}:
            return filter_rule(rule)
    keys = ("src_addr", "dst_addr", "src_port", "dst_port", "protocol", "dst_queue")
    return struct.pack("<qqiiii", *(value[key] for key in keys))


def control(value: dict[str, Any]) -> bytes:
    stage, action = STAGES.index(value["type"]), ACTIONS.index(value["act"])
    # The components in the order of the vectors' keys, which is that of the wire.
    rest = {key: item for key, item in value.items() if key not in ("type", "act")}
    body = b""
    for key, item in rest.items():
        match key:
            case "cls_type":
                remaining = {k: v for k, v in rest.items() if k != key}
                body += u32(CLASSIFIERS.index(item)) + classifier_body(remaining)
                break
            case "queue_type":
                body += u32(QUEUES.index(item))
            case "sch_type":
                body += u32(SCHEDULERS.index(item))
            case "pcr_type":
                body += u32(PACERS.index(item))
            case "q_prio":
                body += listed(item)
            case "tstamp":
                body += struct.pack("<q", item)
            case _:
                body += u32(item)
    return u32(stage, action) + body


def queue_state(value: dict[str, Any]) -> bytes:
    shaper, policer, queue = value["shp"], value["plc"], value["queue"]
    lost = queue["marked_pkts" if queue["type"] == "ECN_CODEL" else "dropped_pkts"]
    return (
        u32(shaper["id"], shaper["active"], shaper["max_rate_kbps"])
        + meter(shaper["mtr"])
        + u32(policer["id"])
        + meter(policer["mtr"])
        + u32(policer["dropped_pkts"], policer["marked_pkts"])
        + struct.pack("<f", policer["max_rate_kbps"])
        + u32(policer["active"], policer["dst_id"], policer["dev_id"])
        + u32(QUEUES.index(queue["type"]), queue["bytes"], queue["pkts"])
        + u32(queue["bytes_fwd"], queue["pkts_fwd"], lost)
        + struct.pack("<fq", queue["avg_sojourn_time"], queue["last_sojourn_time"])
    )


def indication(value: dict[str, Any]) -> bytes:
    scheduler, pacer, classifier = value["sch"], value["pcr"], value["cls"]
    data = u32(SCHEDULERS.index(scheduler["type"]))
    if scheduler["type"] == "PRIO":
        data += listed(scheduler["q_prio"])
    data += u32(PACERS.index(pacer["type"]), pacer["id"]) + meter(pacer["mtr"])
    data += u32(CLASSIFIERS.index(classifier["type"]))
    if classifier["type"] == "OSI":
        rules = classifier["flt"]
        data += u32(len(rules)) + b"".join(filter_rule(rule) for rule in rules)
    else:
        data += u32(classifier["dummy"])
    queues = b"".join(queue_state(state) for state in value["q"])
    return data + u32(len(value["q"])) + queues + struct.pack("<q", value["tstamp"])


def encoded(kind: str, value: dict[str, Any]) -> bytes:
    match kind:
        case "control":
            return control(value)
        case "indication":
            return indication(value)
        case "control-outcome":
            return u32(["OK"].index(value["out"]))
    return u32(*value.values())


def on_wire(value: Any) -> Any:
    """The part of an observed value that is encoded: all but queue ids."""
    match value:
        case dict():
            return {k: on_wire(v) for k, v in value.items() if k != "id_not_on_wire"}
        case list():
            return [on_wire(item) for item in value]
    return value


def test_every_vector_has_the_documented_layout(v0_vectors):
    for vector in v0_vectors:
        data = encoded(vector["kind"], vector["value"])
        assert data.hex() == vector["hex"], vector["name"]


def test_the_codec_agrees_with_every_vector(v0_vectors):
    for vector in v0_vectors:
        data = bytes.fromhex(vector["hex"])
        assert e2sm_tc.decode(vector["kind"], data, "v0") == vector["value"], vector["name"]
        assert e2sm_tc.encode(vector["kind"], vector["value"], "v0") == data, vector["name"]


def test_vectors_hold_every_stage_action_and_kind(v0_vectors):
    controls = [vector["value"] for vector in v0_vectors if vector["kind"] == "control"]
    assert {(c["type"], c["act"]) for c in controls} == {(s, a) for s in STAGES for a in ACTIONS}
    kinds = {(c["type"], c["act"], c[k]) for c in controls for k in c if k.endswith("_type")}
    assert kinds == (
        {("CLS", action, kind) for action in ACTIONS for kind in CLASSIFIERS}
        | {("QUEUE", action, kind) for action in ACTIONS for kind in QUEUES}
        | {("SCH", "MOD", kind) for kind in SCHEDULERS}
        | {("PCR", "MOD", kind) for kind in PACERS}
    )


def test_the_codec_agrees_with_recorded_messages(observed_v0_vectors):
    assert observed_v0_vectors
    for vector in observed_v0_vectors:
        kind = KIND_OF_OBSERVED[vector["kind"]]
        data = bytes.fromhex(vector["hex"])
        decoded = e2sm_tc.decode(kind, data, "v0")
        assert decoded == on_wire(vector["value"]), vector["name"]
        # Keys keep the order of the wire.
        assert str(decoded) == str(on_wire(vector["value"])), vector["name"]
        assert e2sm_tc.encode(kind, vector["value"], "v0") == data, vector["name"]
        assert encoded(kind, vector["value"]) == data, vector["name"]


def test_padding_of_filters_is_ignored(v0_vectors):
    (vector,) = (v for v in v0_vectors if v["name"] == "cls_mod_osi")
    data = bytearray.fromhex(vector["hex"])
    data[16:20] = b"junk"
    data[-4:] = b"junk"
    assert e2sm_tc.decode("control", bytes(data), "v0") == vector["value"]


def test_non_finite_floats_are_strings_in_json(v0_vectors):
    (vector,) = (v for v in v0_vectors if v["name"] == "indication_empty")
    for value in ("NaN", "Infinity", "-Infinity"):
        message = vector["value"] | {"pcr": vector["value"]["pcr"] | {"mtr": _meter(value)}}
        data = e2sm_tc.encode("indication", message, "v0")
        assert e2sm_tc.decode("indication", data, "v0") == message
    for value in (1e39, "nan", None):
        message = vector["value"] | {"pcr": vector["value"]["pcr"] | {"mtr": _meter(value)}}
        with pytest.raises(e2sm_tc.CodecError, match="bnd_flt"):
            e2sm_tc.encode("indication", message, "v0")


def _meter(bandwidth: Any) -> dict[str, Any]:
    return {"bnd_flt": bandwidth, "time_window_ms": 50}


def test_an_unknown_outcome_is_refused():
    with pytest.raises(
        e2sm_tc.CodecError, match=r"out at byte 0: expected one of 0 \(OK\), found 1"
    ):
        e2sm_tc.decode("control-outcome", u32(1), "v0")
