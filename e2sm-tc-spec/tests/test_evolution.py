"""A later version of the service model, beside this one: what it adds stands behind the extension
markers, so that messages of this version keep their bytes, and this version skips what it does not
know or refuses it by name. `codec/src/v1/evolution.rs` declares the same version in Rust."""

import json
import re
from pathlib import Path
from typing import Any

import asn1tools
import e2sm_tc
import pytest

HERE = Path(__file__).parent

BOOLEAN = "BOOLEAN,\n        ..."

#: The end of a type, with its marker, and what the later version adds behind that.
ADDITIONS = [
    ("tail, fattest-head, ...", "oldest, youngest"),
    (f"(0..1000),\n        ecn                   {BOOLEAN}", "gentle BOOLEAN OPTIONAL"),
    (
        "l4s                   BOOLEAN,\n    ...",
        "memory-bytes Uint32 OPTIONAL, note UTF8String (SIZE (0..255)) OPTIONAL",
    ),
    ("holder                Holder OPTIONAL,\n        ...", "retry-ms Uint32 OPTIONAL"),
    (
        "Holder OPTIONAL,\n        ...\n    },\n    ...",
        "deferred SEQUENCE { until-ms Uint32, ... }",
    ),
    ("unknown-qos-flow", "overload"),
    (
        f"by-forecast           {BOOLEAN}\n    }},\n    ...",
        "queue-full SEQUENCE { queues SEQUENCE (SIZE (0..16384)) OF QueueId, ... }",
    ),
]

#: Index behind the marker of the later version's first queue discipline. Those before it are for
#: the disciplines that this version gets, which change nothing here.
FIRST_LATER = 40


def _disciplines(asn1_text: str) -> tuple[str, str]:
    (module,) = asn1tools.parse_string(asn1_text).values()
    members = module["types"]["QueueDiscipline"]["members"]
    free = range(len(members) - members.index(None) - 1, FIRST_LATER)
    later = (
        "prophet SEQUENCE { horizon-us Uint32, ..., patience-us Uint32 OPTIONAL },"
        " asleep NULL, second-codel Codel"
    )
    found = re.search(r"QueueDiscipline ::= CHOICE {.*?(?=\n})", asn1_text, re.DOTALL)
    assert found is not None
    return found[0], ", ".join([*(f"free-{index} NULL" for index in free), later])


@pytest.fixture(scope="module")
def later(compile_asn1, asn1_text):
    additions = [*ADDITIONS, _disciplines(asn1_text)]
    # From the last to the first: an addition to an alternative stands before one to its CHOICE.
    for end, added in sorted(additions, key=lambda each: -_end(asn1_text, each[0])):
        at = _end(asn1_text, end)
        asn1_text = f"{asn1_text[:at]},\n{added}{asn1_text[at:]}"
    return compile_asn1(asn1_text)


@pytest.fixture(scope="module")
def later_vectors() -> list[dict[str, Any]]:
    """Messages of the later version; `here` is what this version reads, or the element that it
    refuses."""
    return [json.loads(line) for line in (HERE / "evolution.jsonl").read_text().splitlines()]


def test_messages_of_this_version_keep_their_bytes(later, v1_vectors):
    for vector in v1_vectors:
        data = bytes.fromhex(vector["hex"])
        assert later.encode(vector["kind"], vector["value"]) == data, vector["name"]
        assert later.decode(vector["kind"], data) == vector["value"], vector["name"]


def test_messages_of_the_later_version_are_as_the_compiler_encodes_them(asn1, later, later_vectors):
    used = set()
    for vector in later_vectors:
        data = bytes.fromhex(vector["hex"])
        assert later.encode(vector["kind"], vector["value"]) == data, vector["name"]
        assert later.decode(vector["kind"], data) == vector["value"], vector["name"]
        used |= set(later.used(vector["kind"], vector["value"]))
    unused = later.alternatives() - asn1.alternatives() - used
    assert {name for _, name in unused if not name.startswith("free-")} == set()


def test_this_version_skips_what_it_does_not_know_or_names_it(later_vectors):
    for vector in later_vectors:
        data, here = bytes.fromhex(vector["hex"]), vector["here"]
        if "value" in here:
            assert e2sm_tc.decode(vector["kind"], data) == here["value"], vector["name"]
            continue
        with pytest.raises(e2sm_tc.CodecError, match="later version") as refused:
            e2sm_tc.decode(vector["kind"], data)
        assert refused.value.element == here["refused"], vector["name"]
        assert refused.value.cause == "unsupported", vector["name"]


def test_a_peer_of_the_first_edition_skips_what_was_added_or_tells_that_it_is_later(
    compile_asn1, asn1, asn1_text, v1_vectors
):
    addition = r"[^{}]|\{[^{}]*\}"
    without, count = re.subn(rf"\.\.\.,\n(?:{addition})*?\n( *)}}", r"...\n\1}", asn1_text)
    assert count > 0
    first = compile_asn1(without)
    added = asn1.alternatives() - first.alternatives()
    read = unread = 0
    for vector in v1_vectors:
        if not added & set(asn1.used(vector["kind"], vector["value"])):
            continue
        data = bytes.fromhex(vector["hex"])
        if (alternative := first.decode_or_none(vector["kind"], data)) is None:
            unread += 1
            continue
        assert alternative == first.without_additions(vector["kind"], vector["value"])
        read += 1
    assert read > 0
    assert unread > 0


def _end(text: str, end: str) -> int:
    assert text.count(end) == 1, end
    return text.index(end) + len(end)
