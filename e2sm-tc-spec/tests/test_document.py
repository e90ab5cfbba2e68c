"""The document describes every element of the ASN.1 module."""

import re
from pathlib import Path

import asn1tools

SPEC = Path(__file__).resolve().parents[1]


def names(node: dict) -> set[str]:
    """Components, alternatives and values of a type, including inlined types."""
    found: set[str] = set()
    for member in filter(None, node.get("members", [])):
        found |= {member["name"]} | names(member)
    for value in filter(None, node.get("values", [])):
        found.add(value[0])
    if "element" in node:
        found |= names(node["element"])
    return found


def test_every_element_is_described(asn1_text):
    (module,) = asn1tools.parse_string(asn1_text).values()
    document = (SPEC / "spec" / "E2SM-TC-v1.md").read_text()
    quoted = set(re.findall(r"`([A-Za-z][A-Za-z0-9-]*)`", document))
    sizes = {"Uint32", "Uint64", "Dscp", "Qfi", "Ipv4Address", "Ipv6Address"}
    types = set(module["types"])
    elements = set().union(*(names(node) for node in module["types"].values()))
    assert types - quoted - sizes == set()
    assert elements - quoted == set()
