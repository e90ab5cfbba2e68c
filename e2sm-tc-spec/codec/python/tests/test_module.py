"""The Python module: types, exceptions, validation."""

import copy
import json
from pathlib import Path
from typing import Any

import e2sm_tc
import numpy as np
import pytest

FQ_CODEL: dict[str, Any] = {
    "name": "fq_codel",
    "classifier": {
        "stochastic_hash": {"target": {"first": 0, "count": 64}, "perturbation": None, "ways": 1}
    },
    "queues": [
        {
            "first": 0,
            "count": 64,
            "discipline": {
                "codel": {
                    "target_us": 5000,
                    "interval_us": 100000,
                    "ecn": True,
                    "ce_threshold_us": None,
                    "l4s": False,
                }
            },
            "limit_packets": None,
            "limit_bytes": None,
            "policer": None,
            "shaper": {"rate_kbps": 1000, "burst_bytes": 3000, "group": None},
        }
    ],
    "scheduler": {"deficit_round_robin": {"quantum_bytes": 1514}},
    "pacer": {"drql": {"mtu_bytes": 1500}},
    "buffer": {"packets": 1000, "bytes": 1500000, "overflow": "fattest_head"},
}


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    pipeline = copy.deepcopy(FQ_CODEL)
    inner: Any = pipeline
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return pipeline


def test_object_identifiers_of_both_versions():
    assert e2sm_tc.OID_V0 == "0.0.0.0.0.0.0.0.1.146.0"
    assert e2sm_tc.OID_V1 == "0.0.0.0.0.0.0.0.1.146.1"


def test_a_choice_without_parameters_is_its_bare_name():
    data = e2sm_tc.encode("event-trigger", "on_change")
    assert e2sm_tc.decode("event-trigger", data) == "on_change"


@pytest.mark.parametrize("wrapper", [bytes, bytearray, memoryview])
def test_any_bytes_like_object_is_decoded(wrapper):
    data = e2sm_tc.encode("pipeline", FQ_CODEL)
    assert e2sm_tc.decode("pipeline", wrapper(data)) == FQ_CODEL


def test_truncated_bytes_are_refused_with_element_and_position():
    data = e2sm_tc.encode("pipeline", FQ_CODEL)
    with pytest.raises(e2sm_tc.CodecError, match=r"buffer\.bytes at byte \d+") as refused:
        e2sm_tc.decode("pipeline", data[:-3])
    assert refused.value.element == "buffer.bytes"
    assert isinstance(refused.value, ValueError)


def test_trailing_bytes_are_refused():
    data = e2sm_tc.encode("pipeline", FQ_CODEL)
    with pytest.raises(e2sm_tc.CodecError, match="1 more bytes follow"):
        e2sm_tc.decode("pipeline", data + b"\0")


@pytest.mark.parametrize(
    ("path", "value", "element"),
    [
        (("name",), "", "name"),
        (("name",), "tab\t", "name"),
        (("name",), "x" * 65, "name"),
        (("queues",), [], "queues"),
        (("queues", 0, "count"), 4097, "queues[0].count"),
        (("queues", 0, "count"), -1, "queues[0].count"),
        (("queues", 0, "limit"), 5, "queues[0].limit"),
        (("queues", 0, "shaper", "rate_kbps"), 2**32, "queues[0].shaper.rate_kbps"),
        (("pacer",), {"drql": {"mtu": 1500}}, "pacer.drql.mtu"),
        (("pacer",), "warp", "pacer"),
    ],
)
def test_a_value_of_the_wrong_shape_is_refused_with_its_path(path, value, element):
    with pytest.raises(e2sm_tc.CodecError) as refused:
        e2sm_tc.encode("pipeline", changed(path, value))
    assert refused.value.element == element
    assert not isinstance(refused.value, e2sm_tc.ValidationError)


@pytest.mark.parametrize("value", [{"a": object()}, {"a": float("nan")}])
def test_values_that_are_not_json_are_refused(value):
    with pytest.raises(e2sm_tc.CodecError, match="value"):
        e2sm_tc.encode("pipeline", value)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(e2sm_tc.CodecError, match="one of control, control-header"):
        e2sm_tc.decode("controls", b"")  # type: ignore[arg-type]
    with pytest.raises(e2sm_tc.CodecError, match="one of v0, v1"):
        e2sm_tc.decode("control", b"", "v2")  # type: ignore[arg-type]
    with pytest.raises(e2sm_tc.CodecError, match="v0 has no pipeline message"):
        e2sm_tc.encode("pipeline", FQ_CODEL, "v0")


def test_a_consistent_pipeline_is_valid():
    e2sm_tc.validate_pipeline(FQ_CODEL)


@pytest.mark.parametrize(
    ("path", "value", "element", "cause"),
    [
        (("queues", 0, "shaper", "rate_kbps"), 0, "queues[0].shaper.rate_kbps", "out_of_range"),
        (
            ("classifier", "stochastic_hash", "target", "count"),
            65,
            "classifier.stochastic_hash.target",
            "inconsistent",
        ),
        (("queues",), FQ_CODEL["queues"] * 2, "queues[1].first", "duplicate_id"),
    ],
)
def test_an_invalid_pipeline_is_refused_with_element_and_cause(path, value, element, cause):
    with pytest.raises(e2sm_tc.ValidationError) as refused:
        e2sm_tc.validate_pipeline(changed(path, value))
    assert refused.value.cause == cause
    assert refused.value.element == element


def test_other_messages_are_validated_too():
    e2sm_tc.validate("event-trigger", "on_change")
    threshold = {"quantity": "drops", "above": 1, "hysteresis": 2, "min_interval_ms": 0}
    with pytest.raises(e2sm_tc.ValidationError) as refused:
        e2sm_tc.validate("event-trigger", {"threshold": threshold})
    assert refused.value.element == "threshold.above"
    with pytest.raises(e2sm_tc.CodecError, match="style"):
        e2sm_tc.validate("control-header", {"style": 0, "correlation_id": 1})


def vectors_of_indications() -> list[dict[str, Any]]:
    vectors = Path(__file__).parents[3] / "vectors" / "v1.jsonl"
    messages = [json.loads(line) for line in vectors.read_text().splitlines()]
    return [vector for vector in messages if vector["kind"] == "indication"]


def bearer_of(value: dict[str, Any]) -> dict[str, Any]:
    return {"rnti": value["bearer"]["ue"].get("rnti"), "drb": value["bearer"]["drb"]}


def of_status(value: dict[str, Any]) -> dict[str, Any]:
    absent = ("bearer", "pacer", "ingress_packets", "ingress_bytes")
    absent_of_queue = ("backlog_packets", "policed_packets", "shaped")
    queues = [{k: v for k, v in q.items() if k not in absent_of_queue} for q in value["queues"]]
    rest = {name: item for name, item in value.items() if name not in absent}
    by, qos = value.get("by_default"), value.get("qos", {})
    slice_id = qos.get("s_nssai") and tuple(qos["s_nssai"].values())
    flows = value.get("qos_flows")
    added = {
        "by_default": by and (by["revision"], by["rule"], by["age_ms"]),
        "qos": (qos.get("five_qis", []), slice_id),
        "qos_flows": flows and (flows["revision"], flows["qfis"]),
    }
    return {**rest, **bearer_of(value), "queues": queues, **added}


def of_inventory(value: dict[str, Any]) -> dict[str, Any]:
    absent = ("flow", "dscp")
    flows = [
        {
            "inelastic": None,
            **{name: item for name, item in flow.items() if name not in absent},
            "five_tuple": tuple(flow["flow"].values()),
        }
        for flow in value["flows"]
    ]
    return {**bearer_of(value), "active_flows": value["active_flows"], "flows": flows}


def shape(found: object) -> Any:
    """An object as a ``dict`` of its attributes."""
    if isinstance(found, list | e2sm_tc.PipelineStatuses):
        return [shape(item) for item in found]
    if type(found).__module__ != "e2sm_tc":
        return found
    names = [name for name in dir(found) if not name.startswith("_")]
    values = {name: getattr(found, name) for name in names}
    return {name: shape(value) for name, value in values.items() if not callable(value)}


def test_the_objects_of_an_indication_have_the_values_of_the_decoded_one():
    styles = set()
    for vector in vectors_of_indications():
        data = bytes.fromhex(vector["hex"])
        style, content = e2sm_tc.decode_indication(data)
        ((expected_style, value),) = vector["value"].items()
        assert style == expected_style
        read = {"pipeline_status": of_status, "flow_inventory": of_inventory, "events": dict}
        assert shape(content) == [read[style](item) for item in value], vector["name"]
        styles.add(style)
    assert styles == {"pipeline_status", "flow_inventory", "events"}


def test_the_rows_of_statuses_have_the_values_of_their_objects():
    seen = 0
    for vector in vectors_of_indications():
        style, statuses = e2sm_tc.decode_indication(bytes.fromhex(vector["hex"]))
        if style != "pipeline_status":
            continue
        rows = e2sm_tc.status_rows(statuses)
        assert len(rows) == len(statuses)
        for row, status in zip(rows, statuses, strict=True):
            expected = {
                "dropped_packets": status.dropped_packets,
                "marked_packets": sum(queue.marked_packets for queue in status.queues),
                "backlog_bytes": sum(queue.backlog_bytes for queue in status.queues),
                "lease_left_ms": -1 if status.lease_left_ms is None else status.lease_left_ms,
                "rnti": e2sm_tc.NO_RNTI if status.rnti is None else status.rnti,
                "revision": status.revision,
                "head_of_line_age_us": status.head_of_line_age_us,
                "ungreedy_sojourn_us": np.float32(status.ungreedy_sojourn_us(None)),
                "drb": status.drb,
                "safe": status.safe,
            }
            assert {name: row[name] for name in e2sm_tc.STATUS_ROW.names} == expected
            seen += 1
    assert seen


def test_a_row_that_a_report_does_not_have():
    one = statuses_of(of_rnti(7))
    assert one[-1].rnti == one[0].rnti == 7
    for row in (1, -2):
        with pytest.raises(IndexError, match="expected one of 1 rows"):
            one[row]


def status_value() -> dict[str, Any]:
    reported = (vector["value"].get("pipeline_status") for vector in vectors_of_indications())
    value: dict[str, Any] = next(each for each in reported if each)[0]
    return value


def statuses_of(*values: dict[str, Any]) -> e2sm_tc.PipelineStatuses:
    message = {"pipeline_status": [{**status_value(), **each} for each in values]}
    return e2sm_tc.decode_indication(e2sm_tc.encode("indication", message))[1]


def of_rnti(rnti: int) -> dict[str, Any]:
    return {"bearer": {"ue": {"rnti": rnti}, "drb": 1}}


def test_rows_that_show_another_pipeline_than_the_report_before():
    before = statuses_of(*(of_rnti(rnti) for rnti in (1, 2, 3, 4, 5, 6)))
    revision, safe = before[0].revision, before[0].safe
    now = statuses_of(
        {**of_rnti(1), "head_of_line_age_us": 7},
        {**of_rnti(2), "revision": revision + 1},
        {**of_rnti(3), "name": "another"},
        {**of_rnti(4), "safe": not safe},
        {**of_rnti(5), "owner": "another"},
        {**of_rnti(6), "digest": 1},
    )
    assert now.changed_since(before) == [1, 2, 3, 4, 5]
    assert before.changed_since(before) == []
    assert statuses_of(of_rnti(1)).changed_since(before) is None
    assert (
        statuses_of(of_rnti(2), of_rnti(1)).changed_since(statuses_of(of_rnti(1), of_rnti(2)))
        is None
    )


def test_inventories_say_which_queues_the_rows_are_of():
    counters = dict.fromkeys(
        ("backlog_packets", "forwarded_packets", "dropped_packets", "marked_packets"), 0
    )
    queues = [
        {
            **counters,
            "id": number,
            "forwarded_bytes": number,
            "backlog_bytes": 1,
            "mean_sojourn_us": number * 1000,
            "last_sojourn_us": 0,
            "policed_packets": 0,
            "shaped": False,
        }
        for number in (1, 2, 3)
    ]
    statuses = statuses_of(*({**of_rnti(rnti), "queues": queues} for rnti in (1, 2, 3)))
    used = e2sm_tc.UngreedyQueues()
    used.set(1, 1, (1,))
    used.set(2, 1, (3,))
    assert e2sm_tc.status_rows(statuses, used)["ungreedy_sojourn_us"].tolist() == [1e3, 3e3, 2e3]
    used.set(2, 1, None)
    assert e2sm_tc.status_rows(statuses, used)["ungreedy_sojourn_us"].tolist() == [1e3, 2e3, 2e3]


def test_damaged_indications_are_refused_as_by_decode():
    for vector in vectors_of_indications():
        data = bytes.fromhex(vector["hex"])
        for damaged in (data[:-1], data + b"\0", b"\xff" + data[1:], b""):
            with pytest.raises(e2sm_tc.CodecError) as expected:
                e2sm_tc.decode("indication", damaged)
            with pytest.raises(e2sm_tc.CodecError) as refused:
                e2sm_tc.decode_indication(damaged)
            assert str(refused.value) == str(expected.value)
            assert refused.value.element == expected.value.element


def test_pacer_limits_are_those_of_the_decoded_status():
    found = 0
    for vector in vectors_of_indications():
        expected = [
            (s["bearer"]["ue"]["rnti"], s["bearer"]["drb"], s["pacer"]["limit_bytes"])
            for s in vector["value"].get("pipeline_status", [])
            if "rnti" in s["bearer"]["ue"] and s["pacer"]["limit_bytes"] is not None
        ]
        columns = e2sm_tc.pacer_limits(bytes.fromhex(vector["hex"]))
        assert list(zip(*columns, strict=True)) == expected
        found += len(expected)
    assert found
    with pytest.raises(e2sm_tc.CodecError):
        e2sm_tc.pacer_limits(b"\xff")


def test_the_longest_sojourn_of_ungreedy_queues():
    def status(*queues: tuple[int, int, int, int, int]) -> Any:
        counters = dict.fromkeys(
            ("backlog_packets", "forwarded_packets", "dropped_packets", "marked_packets"), 0
        )
        keys = ("id", "forwarded_bytes", "backlog_bytes", "mean_sojourn_us", "last_sojourn_us")
        given = [
            {
                **counters,
                "policed_packets": 0,
                "shaped": False,
                **dict(zip(keys, each, strict=True)),
            }
            for each in queues
        ]
        return statuses_of({"queues": given})[0]

    def ids(found: list[Any]) -> list[int]:
        return [queue.id for queue in found]

    three = status((4, 9, 0, 500, 7), (2, 9_000, 1, 90_000, 8), (7, 10, 1, 0, 900))
    assert ids(three.ungreedy_queues((2, 7))) == [2, 7]
    assert three.ungreedy_sojourn_us((2, 7)) == 90_000
    assert three.ungreedy_sojourn_us((7,)) == 900, "none left: the last of what waits"
    assert (ids(three.ungreedy_queues(())), three.ungreedy_sojourn_us(())) == ([], 0)
    assert ids(three.ungreedy_queues(None)) == [4, 7], "the busiest is the greedy flow's"
    assert three.ungreedy_sojourn_us(None) == 900
    alone = status((3, 9, 0, 600, 7))
    assert (ids(alone.ungreedy_queues(None)), alone.ungreedy_sojourn_us(None)) == ([3], 600)
    assert status((3, 9, 0, 0, 7)).ungreedy_sojourn_us(None) == 0, "nothing waits"
    assert status().ungreedy_sojourn_us(None) == 0
