"""Fixtures: the ASN.1 module compiled by an independent compiler (asn1tools), and the vectors."""

import ipaddress
import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import asn1tools
import pytest
from asn1tools.codecs import per
from hypothesis import strategies as st

SPEC = Path(__file__).resolve().parents[1]
ASN1_FILE = SPEC / "asn1" / "E2SM-TC-v1.asn"

TYPE_OF_KIND = {
    "control": "ControlMessage",
    "control-header": "ControlHeader",
    "control-outcome": "ControlOutcome",
    "event-trigger": "EventTrigger",
    "action-definition": "ActionDefinition",
    "indication-header": "IndicationHeader",
    "indication": "IndicationMessage",
    "ran-function-definition": "RanFunctionDefinition",
    "pipeline": "Pipeline",
}

Node = dict[str, Any]


def _without_bits_of_absent_ones_at_the_end(encode_additions: Any) -> Any:
    """Presence bits end with the last addition that is present, as of a sender that knows no later
    ones (E2SM-TC-v1 §9); asn1tools writes those of all that the module has."""

    def encode(self: per.Sequence, data: Node, encoder: per.Encoder) -> bool:
        every = self.additions
        present = [index for index, addition in enumerate(every) if addition.name in data]
        self.additions = every[: max(present, default=-1) + 1]
        try:
            return bool(encode_additions(self, data, encoder))
        finally:
            self.additions = every

    return encode


def _null_as_an_octet(encode_additions: Any) -> Any:
    """An alternative without content behind the extension marker is one octet of zero (X.691
    §11.1.3); asn1tools writes none."""

    def encode(self: per.Choice, data: tuple[str, Any], encoder: per.Encoder) -> None:
        index = self.additions_name_to_index[data[0]]
        if not isinstance(self.additions_index_to_member[index], per.Null):
            encode_additions(self, data, encoder)
            return
        encoder.append_normally_small_non_negative_whole_number(index)
        encoder.align()
        encoder.append_bytes(b"\x01\x00")

    return encode


per.Sequence.encode_additions = _without_bits_of_absent_ones_at_the_end(
    per.Sequence.encode_additions
)
per.Choice.encode_additions = _null_as_an_octet(per.Choice.encode_additions)


class Asn1Module:
    """Encodes and decodes by the ASN.1 file, with values in the JSON shape of the service model.

    The JSON shape follows from the ASN.1 types: hyphens become underscores (except in the
    codepoints of ``Ecn``), a CHOICE is an object of one key or, for NULL, a bare name, absent
    elements are null, or left out behind the extension marker, and octet strings are IP addresses.
    """

    def __init__(self, text: str) -> None:
        self._compiled = asn1tools.compile_string(text, "per")
        (module,) = asn1tools.parse_string(text).values()
        self._types: dict[str, Node] = module["types"]
        self._values: dict[str, Node] = module["values"]

    def encode(self, kind: str, value: Any) -> bytes:
        name = TYPE_OF_KIND[kind]
        return bytes(self._compiled.encode(name, self._from_json({"type": name}, value)))

    def decode(self, kind: str, data: bytes) -> Any:
        name = TYPE_OF_KIND[kind]
        return self._to_json({"type": name}, self._compiled.decode(name, data))

    def decode_or_none(self, kind: str, data: bytes) -> Any:
        """The value; ``None`` where an alternative is one that this module does not have."""
        try:
            return self.decode(kind, data)
        except asn1tools.DecodeError as error:
            if "does not have" in str(error):
                return None
            raise

    def without_additions(self, kind: str, value: Any) -> Any:
        """A value of a later module without the components that this one does not have."""
        return self._to_json(
            {"type": (name := TYPE_OF_KIND[kind])}, self._from_json({"type": name}, value)
        )

    def values(self, kind: str) -> st.SearchStrategy[Any]:
        """Values of a message, in the JSON shape."""
        return self._strategy({"type": TYPE_OF_KIND[kind]})

    def alternatives(self) -> set[tuple[str, str]]:
        """Every alternative of every CHOICE, value of every ENUMERATED and component behind the
        extension marker of every SEQUENCE of every message."""
        found: set[tuple[str, str]] = set()
        seen: set[str] = set()
        open_nodes: list[Node] = [{"type": name} for name in TYPE_OF_KIND.values()]
        while open_nodes:
            name, node = self._resolve(open_nodes.pop())
            if name in seen:
                continue
            seen.add(name)
            if node["type"] == "CHOICE":
                found |= {(name, member["name"]) for member in _members(node)}
            if node["type"] == "ENUMERATED":
                found |= {(name, value[0]) for value in node["values"] if value is not None}
            if node["type"] == "SEQUENCE":
                found |= {(name, member["name"]) for member in _additions(node)}
            if node["type"] == "SEQUENCE OF":
                open_nodes.append(node["element"])
            open_nodes += _members(node)
        return found

    def used(self, kind: str, value: Any) -> Iterator[tuple[str, str]]:
        """The alternatives and values that a message uses, named as by `alternatives`."""
        yield from self._used({"type": TYPE_OF_KIND[kind]}, value)

    def _used(self, of: Node, value: Any) -> Iterator[tuple[str, str]]:
        name, node = self._resolve(of)
        match node["type"]:
            case "SEQUENCE":
                for member in _members(node):
                    if value.get(_json_name(member)) is None:
                        continue
                    if member in _additions(node):
                        yield name, member["name"]
                    yield from self._used(member, value[_json_name(member)])
            case "SEQUENCE OF":
                for element in value:
                    yield from self._used(node["element"], element)
            case "CHOICE":
                member, inner = _alternative(node, value)
                yield name, member["name"]
                if member["type"] != "NULL":
                    yield from self._used(member, inner)
            case "ENUMERATED":
                yield name, value.replace("_", "-")

    def _resolve(self, node: Node) -> tuple[str, Node]:
        """The type behind a reference, with its last name."""
        name = node["type"]
        while node["type"] in self._types:
            name, node = node["type"], self._types[node["type"]]
        return (name if name in self._types else str(node)), node

    def _bounds(self, node: Node, key: str) -> tuple[int, int]:
        ((low, high),) = node[key]
        number = {name: value["value"] for name, value in self._values.items()}
        return number.get(low, low), number.get(high, high)

    def _to_json(self, of: Node, value: Any) -> Any:
        name, node = self._resolve(of)
        match node["type"]:
            case "SEQUENCE":
                result: Any = {
                    _json_name(member): self._to_json(member, value[member["name"]])
                    if member["name"] in value
                    else None
                    for member in _members(node)
                    if member["name"] in value or member not in _additions(node)
                }
            case "SEQUENCE OF":
                result = [self._to_json(node["element"], element) for element in value]
            case "CHOICE":
                label, inner = value
                if label is None:
                    raise asn1tools.DecodeError("an alternative that this module does not have")
                (member,) = (member for member in _members(node) if member["name"] == label)
                result = _choice(name, member, self._to_json(member, inner))
            case "ENUMERATED":
                # Without a value: one that this module does not have.
                value = "other" if value is None else value
                result = value if name == "Ecn" else value.replace("-", "_")
            case "OCTET STRING":
                result = str(ipaddress.ip_address(value))
            case _:
                result = value
        return result

    def _from_json(self, of: Node, value: Any) -> Any:
        _, node = self._resolve(of)
        match node["type"]:
            case "SEQUENCE":
                result: Any = {
                    member["name"]: self._from_json(member, value[_json_name(member)])
                    for member in _members(node)
                    if value.get(_json_name(member)) is not None
                }
            case "SEQUENCE OF":
                result = [self._from_json(node["element"], element) for element in value]
            case "CHOICE":
                member, inner = _alternative(node, value)
                result = member["name"], self._from_json(member, inner)
            case "ENUMERATED":
                # ``None`` for one that this module does not have.
                known = {each[0] for each in filter(None, node["values"])}
                result = label if (label := value.replace("_", "-")) in known else None
            case "OCTET STRING":
                result = ipaddress.ip_address(value).packed
            case _:
                result = value
        return result

    def _strategy(self, of: Node) -> st.SearchStrategy[Any]:
        name, node = self._resolve(of)
        match node["type"]:
            case "SEQUENCE":
                additions = _additions(node)
                result: st.SearchStrategy[Any] = st.fixed_dictionaries(
                    {
                        _json_name(member): st.none() | self._strategy(member)
                        if member.get("optional")
                        else self._strategy(member)
                        for member in _members(node)
                        if member not in additions
                    },
                    optional={_json_name(member): self._strategy(member) for member in additions},
                )
            case "SEQUENCE OF":
                low, high = self._bounds(node, "size")
                element = self._strategy(node["element"])
                result = st.lists(element, min_size=low, max_size=min(high, low + 3))
            case "CHOICE":
                result = st.one_of(
                    self._strategy(member).map(partial(_choice, name, member))
                    for member in _members(node)
                )
            case "ENUMERATED":
                labels = [value[0] for value in node["values"] if value is not None]
                names = labels if name == "Ecn" else [label.replace("-", "_") for label in labels]
                result = st.sampled_from(names)
            case "NULL":
                result = st.none()
            case "OCTET STRING":
                (size,) = node["size"]
                result = st.ip_addresses(v=4 if size == 4 else 6).map(str)
            case "INTEGER":
                result = st.integers(*self._bounds(node, "restricted-to"))
            case "BOOLEAN":
                result = st.booleans()
            case "VisibleString":
                low, high = self._bounds(node, "size")
                printable = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
                result = st.text(printable, min_size=low, max_size=high)
            case "UTF8String":
                _, high = self._bounds(node, "size")
                result = st.text(st.characters(codec="utf-8"), max_size=high)
            case other:
                raise NotImplementedError(f"no values of ASN.1 type {other}")
        return result


def _members(node: Node) -> list[Node]:
    return [member for member in node.get("members", []) if member is not None]


def _additions(node: Node) -> list[Node]:
    """The members behind the extension marker."""
    members = node.get("members", [])
    return _members({"members": members[members.index(None) :]}) if None in members else []


def _json_name(member: Node) -> str:
    return str(member["name"]).replace("-", "_")


def _choice(name: str, member: Node, inner: Any) -> Any:
    """A CHOICE in JSON: a bare name for NULL, the address for ``IpAddress``, else one key."""
    if member["type"] == "NULL":
        return _json_name(member)
    return inner if name == "IpAddress" else {_json_name(member): inner}


def _alternative(node: Node, value: Any) -> tuple[Node, Any]:
    """The alternative of a CHOICE and its value, from JSON: the inverse of `_choice`."""
    if isinstance(value, dict):
        ((label, inner),) = value.items()
    elif any(member["type"] == "Ipv4Address" for member in _members(node)):
        label, inner = f"v{ipaddress.ip_address(value).version}", value
    else:
        label, inner = value, None
    (member,) = (member for member in _members(node) if _json_name(member) == label)
    return member, inner


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="session")
def asn1_text() -> str:
    return ASN1_FILE.read_text()


@pytest.fixture(scope="session")
def asn1(asn1_text: str) -> Asn1Module:
    return Asn1Module(asn1_text)


@pytest.fixture(scope="session")
def compile_asn1() -> type[Asn1Module]:
    """Compiles the text of a module, such as that of a later version."""
    return Asn1Module


@pytest.fixture(scope="session")
def v1_vectors() -> list[dict[str, Any]]:
    return _lines(SPEC / "vectors" / "v1.jsonl")


@pytest.fixture(scope="session")
def v0_vectors() -> list[dict[str, Any]]:
    return _lines(SPEC / "vectors" / "v0.jsonl")


@pytest.fixture(scope="session")
def observed_v0_vectors() -> list[dict[str, Any]]:
    """Vectors of v0 recorded from FlexRIC, stored outside the repository."""
    shared = Path(os.environ.get("SOJOURN_SHARED", SPEC.parents[1] / "shared"))
    path = shared / "facts" / "tc_v0_vectors.jsonl"
    if not path.exists():
        pytest.skip(f"the vectors observed from FlexRIC are not at {path}; set SOJOURN_SHARED")
    return _lines(path)
