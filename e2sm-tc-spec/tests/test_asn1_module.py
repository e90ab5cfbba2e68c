"""An independent ASN.1 compiler agrees with the codec on every vector and on random values."""

from typing import Any, get_args

import asn1tools
import e2sm_tc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KINDS: tuple[e2sm_tc.Kind, ...] = get_args(e2sm_tc.Kind)


def test_the_compiler_decodes_every_vector_to_its_value(asn1, v1_vectors):
    for vector in v1_vectors:
        decoded = asn1.decode(vector["kind"], bytes.fromhex(vector["hex"]))
        assert decoded == vector["value"], vector["name"]


def test_the_compiler_encodes_every_value_to_its_vector(asn1, v1_vectors):
    for vector in v1_vectors:
        assert asn1.encode(vector["kind"], vector["value"]).hex() == vector["hex"], vector["name"]


def test_the_codec_agrees_with_every_vector(v1_vectors):
    for vector in v1_vectors:
        data = bytes.fromhex(vector["hex"])
        assert e2sm_tc.decode(vector["kind"], data) == vector["value"], vector["name"]
        assert e2sm_tc.encode(vector["kind"], vector["value"]) == data, vector["name"]


def test_vectors_use_every_alternative_of_every_choice(asn1, v1_vectors):
    used = {
        alternative
        for vector in v1_vectors
        for alternative in asn1.used(vector["kind"], vector["value"])
    }
    assert asn1.alternatives() - used == set()


def test_names_of_vectors_are_unique(v1_vectors, v0_vectors):
    for vectors in (v1_vectors, v0_vectors):
        names = [vector["name"] for vector in vectors]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", KINDS)
def test_random_values_have_one_encoding(asn1, kind):
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(asn1.values(kind))
    def same(value: Any) -> None:
        data = asn1.encode(kind, value)
        # Compared as bytes: an IPv6 address can be written in more than one way.
        assert asn1.encode(kind, e2sm_tc.decode(kind, data)) == data
        assert e2sm_tc.encode(kind, value) == data

    same()


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bytes_that_the_codec_accepts_decode_alike_by_the_compiler(asn1, kind, v1_vectors):
    originals = [bytes.fromhex(v["hex"]) for v in v1_vectors if v["kind"] == kind]

    @settings(max_examples=100, deadline=None)
    @given(st.sampled_from(originals), st.data())
    def damage(original: bytes, data: st.DataObject) -> None:
        bit = data.draw(st.integers(0, 8 * len(original) - 1))
        damaged = bytearray(original)
        damaged[bit // 8] ^= 0x80 >> bit % 8
        try:
            value = e2sm_tc.decode(kind, bytes(damaged))
        except e2sm_tc.CodecError:
            return
        try:
            read = asn1.decode(kind, bytes(damaged))
        except asn1tools.Error:
            # asn1tools cannot skip components of later versions.
            assert e2sm_tc.encode(kind, value) != bytes(damaged)
        else:
            # Compared as bytes, unless they are equal: a cause `other` has none.
            assert read == value or asn1.encode(kind, read) == asn1.encode(kind, value)

    damage()


def test_components_of_a_later_version_are_skipped(compile_asn1, asn1_text):
    later = compile_asn1(
        asn1_text.replace(
            "    l4s                   BOOLEAN,\n    ...\n",
            "    l4s                   BOOLEAN,\n    ...,\n"
            "    memory-bytes          Uint32,\n    note   UTF8String (SIZE (0..255)) OPTIONAL\n",
        )
    )
    codel = {
        "target_us": 5000,
        "interval_us": 100000,
        "ecn": True,
        "ce_threshold_us": None,
        "l4s": False,
    }
    pipeline = _pipeline_with({"codel": codel | {"memory_bytes": 32 << 20, "note": "x" * 200}})
    data = later.encode("pipeline", pipeline)
    assert e2sm_tc.decode("pipeline", data) == _pipeline_with({"codel": codel})


def test_an_alternative_of_a_later_version_is_refused_as_such(compile_asn1, asn1_text):
    later = compile_asn1(
        asn1_text.replace(
            "        bound-us              Uint32 OPTIONAL,\n        ...\n    }\n",
            "        bound-us              Uint32 OPTIONAL,\n        ...\n    },\n"
            "    prophet               NULL\n",
        )
    )
    pipeline = _pipeline_with({"fifo": {"drop": "tail"}}) | {"pacer": "prophet"}
    data = later.encode("pipeline", pipeline)
    with pytest.raises(e2sm_tc.CodecError, match="later version") as refused:
        e2sm_tc.decode("pipeline", data)
    assert refused.value.element == "pacer"


def _pipeline_with(discipline: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "one queue",
        "classifier": {"round_robin": {"first": 0, "count": 1}},
        "queues": [
            {
                "first": 0,
                "count": 1,
                "discipline": discipline,
                "limit_packets": None,
                "limit_bytes": None,
                "policer": None,
                "shaper": None,
            }
        ],
        "scheduler": "round_robin",
        "pacer": "none",
        "buffer": {"packets": 100, "bytes": 150_000, "overflow": "tail"},
    }
