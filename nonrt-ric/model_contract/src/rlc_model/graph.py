"""Checks the ONNX graph of a step before a runtime loads it, without the `onnx` package.

A step computes with the sample, the state and the weights in the file. Loops, references to other
files, tensors of computed size (a file of a hundred bytes can request terabytes) and non-finite
weights are refused. The parser reads only Protobuf's wire format
(https://protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from rlc_model.contract import MODEL
from rlc_model.errors import ContractError

MAX_NODES: Final = 10_000
"""Most nodes of a graph: at a microsecond each, a step takes ten milliseconds."""

DOMAINS: Final = frozenset({"", "ai.onnx", "ai.onnx.ml"})
REFUSED: Final = frozenset(
    {
        # Control flow: the time of a step must not depend on values.
        *("If", "Loop", "Scan", "SequenceMap"),
        # Tensors of computed size.
        *("ConstantOfShape", "Expand", "EyeLike", "OneHot", "Pad", "Range", "Resize", "Tile"),
        *("Upsample", "CenterCropPad"),
        # Randomness: equal samples must give equal forecasts.
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    }
)
"""Operators not allowed in a step."""

# Field numbers of onnx.proto (IR version 13).
_MODEL_GRAPH, _MODEL_FUNCTIONS = 7, 25
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_SPARSE = 1, 5, 15
_NODE_OP_TYPE, _NODE_ATTRIBUTE, _NODE_DOMAIN = 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_F, _ATTRIBUTE_T, _ATTRIBUTE_FLOATS, _ATTRIBUTE_TENSORS = 1, 2, 5, 7, 10
_ATTRIBUTE_GRAPHS: Final = frozenset({6, 11})
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_RAW = 1, 2, 8, 9
_TENSOR_EXTERNAL, _TENSOR_LOCATION = 13, 14
_TYPED: Final = {4: "<f4", 10: "<f8"}
"""Fields float_data and double_data of a tensor."""
_ELEMENTS: Final = {1: "<f4", 11: "<f8", 10: "<f2", 6: "<i4", 7: "<i8", 9: "?", 2: "u1", 3: "i1"}
"""Element types of weights and shapes: TensorProto.DataType."""


def check_graph(onnx: bytes) -> None:
    """Checks a graph.

    Raises:
        ContractError: Names the node or weight and the fault.
    """
    try:
        _check_model(memoryview(onnx))
    except WireError as error:
        raise ContractError(MODEL, f"is not an ONNX model: {error}") from error


def _check_model(model: memoryview) -> None:
    graphs = []
    for number, value in fields(model):
        if number == _MODEL_FUNCTIONS:
            raise ContractError(MODEL, "defines functions; expected only ONNX operators")
        if number == _MODEL_GRAPH:
            graphs.append(_message(value))
    if len(graphs) != 1:
        raise ContractError(
            MODEL, f"is not an ONNX model: it has {len(graphs)} graphs; expected one"
        )
    nodes = 0
    for number, value in fields(graphs[0]):
        if number == _GRAPH_NODE:
            nodes += 1
            _check_node(_message(value))
        elif number == _GRAPH_INITIALIZER:
            _check_tensor(_message(value), "")
        elif number == _GRAPH_SPARSE:
            raise ContractError(MODEL, "has sparse weights; expected dense ones")
    if nodes > MAX_NODES:
        raise ContractError(MODEL, f"has {nodes} nodes; expected at most {MAX_NODES}")


def _check_node(node: memoryview) -> None:
    operator, domain, attributes = "", "", []
    for number, value in fields(node):
        if number == _NODE_OP_TYPE:
            operator = _text(value)
        elif number == _NODE_DOMAIN:
            domain = _text(value)
        elif number == _NODE_ATTRIBUTE:
            attributes.append(_message(value))
    if domain not in DOMAINS:
        raise ContractError(
            f"{MODEL}: operator {operator}", f"is of domain {domain!r}; expected an ONNX domain"
        )
    if operator in REFUSED:
        raise ContractError(f"{MODEL}: operator {operator}", "is not allowed in a step")
    for attribute in attributes:
        _check_attribute(attribute, operator)


def _check_attribute(attribute: memoryview, operator: str) -> None:
    name = ""
    for number, value in fields(attribute):
        if number == _ATTRIBUTE_NAME:
            name = _text(value)
        elif number in _ATTRIBUTE_GRAPHS:
            raise ContractError(f"{MODEL}: operator {operator}", "contains a subgraph")
        elif number in (_ATTRIBUTE_T, _ATTRIBUTE_TENSORS):
            _check_tensor(_message(value), f"{operator}.{name}")
        elif number in (_ATTRIBUTE_F, _ATTRIBUTE_FLOATS):
            _check_finite(_message(value), "<f4", f"{operator}.{name}")


def _check_tensor(tensor: memoryview, place: str) -> None:
    dims: list[int] = []
    typed: list[tuple[memoryview, str]] = []
    kind, raw, external = 0, None, False
    for number, value in fields(tensor):
        if number == _TENSOR_DIMS:
            dims += varints(value)
        elif number == _TENSOR_TYPE and isinstance(value, int):
            kind = value
        elif number == _TENSOR_NAME:
            place = place or _text(value)
        elif number == _TENSOR_RAW:
            raw = _message(value)
        elif number in _TYPED:
            typed.append((_message(value), _TYPED[number]))
        elif number == _TENSOR_EXTERNAL or (number == _TENSOR_LOCATION and value != 0):
            external = True
    if external:
        raise ContractError(
            f"{MODEL}: weight {place}", "refers to another file; expected its values in this file"
        )
    if kind not in _ELEMENTS:
        raise ContractError(f"{MODEL}: weight {place}", f"has unsupported ONNX element type {kind}")
    for data, dtype in typed:
        _check_finite(data, dtype, place)
    if raw is not None:
        _check_raw(raw, dims, _ELEMENTS[kind], place)


def _check_raw(raw: memoryview, dims: list[int], dtype: str, place: str) -> None:
    element = np.dtype(dtype)
    if len(raw) != math.prod(dims) * element.itemsize:
        raise ContractError(
            f"{MODEL}: weight {place}",
            f"has {len(raw)} bytes for shape {tuple(dims)} of {element.name}",
        )
    if element.kind == "f":
        _check_finite(raw, dtype, place)


def _check_finite(data: memoryview, dtype: str, place: str) -> None:
    size = np.dtype(dtype).itemsize
    if len(data) % size:
        raise WireError(f"{place}: {len(data)} bytes of {np.dtype(dtype).name}")
    wrong = ~np.isfinite(np.frombuffer(data, dtype))
    if wrong.any():
        raise ContractError(
            f"{MODEL}: weight {place}", f"is NaN or infinite at element {int(np.argmax(wrong))}"
        )


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise WireError("a varint; expected a message")
    return value


def _text(value: int | memoryview) -> str:
    return bytes(_message(value)).decode("utf-8", "replace")


Field = tuple[int, int | memoryview]
"""Field number, and a varint's value or another field's bytes."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES: Final = {_FIXED64: 8, _FIXED32: 4}


class WireError(ValueError):
    """The bytes are not a Protobuf message."""


def fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message in order.

    Raises:
        WireError: The bytes end within a field, or a wire type is unknown.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise WireError(f"field 0 at byte {at}")
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(message, at)
        elif kind in _FIXED_BYTES:
            length = _FIXED_BYTES[kind]
        else:
            raise WireError(f"wire type {kind} at byte {at}")
        if length > end - at:
            raise WireError(f"field {number} of {length} bytes at byte {at} of {end}")
        yield number, message[at : at + length]
        at += length


def varints(packed: int | memoryview) -> Iterator[int]:
    """Values of a repeated varint field, packed or not."""
    if isinstance(packed, int):
        yield packed
        return
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise WireError(f"varint does not end at byte {at}")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
