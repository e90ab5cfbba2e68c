"""The E2SM-TC service model: v0 (FlexRIC's plain layout) and v1 (aligned PER), and what pipelines
mean beside their encoding: templates, changes, the limits of a node.

Values have the JSON shape of the service model: names in snake_case, units in the names, one key
for the alternative of a choice, ``None`` for what is absent. See ``spec/E2SM-TC-v1.md``.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from e2sm_tc import _native
from e2sm_tc._native import (
    OID_V0,
    OID_V1,
    TEMPLATES,
    CodecError,
    PipelineError,
    TemplateError,
    ValidationError,
)

__all__ = [
    "OID_V0",
    "OID_V1",
    "TEMPLATES",
    "CodecError",
    "Encoding",
    "Kind",
    "PipelineError",
    "TemplateError",
    "ValidationError",
    "candidate",
    "check_pipeline",
    "decode",
    "encode",
    "pacer_limits",
    "pipeline",
    "template_schema",
    "validate",
    "validate_pipeline",
]

Encoding: TypeAlias = Literal["v0", "v1"]
Kind: TypeAlias = Literal[
    "control",
    "control-header",
    "control-outcome",
    "event-trigger",
    "action-definition",
    "indication-header",
    "indication",
    "ran-function-definition",
    "pipeline",
]


_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def encode(kind: Kind, value: Mapping[str, Any] | str, encoding: Encoding = "v1") -> bytes:
    """Encode a message.

    A choice without parameters is its bare name: ``encode("event-trigger", "on_change")``.

    Raises:
        CodecError: the value does not have the shape of the message, or is out of range.
    """
    return _native.encode(encoding, kind, _to_json(value))


def decode(kind: Kind, data: bytes, encoding: Encoding = "v1") -> Any:
    """Decode a message: a ``dict``, or a ``str`` for a choice without parameters.

    ``data`` may be any bytes-like object.

    Raises:
        CodecError: the bytes are no such message; says where and what was expected.
    """
    return json.loads(_native.decode(encoding, kind, bytes(data)))


def pacer_limits(data: bytes) -> tuple[list[int], list[int], list[int]]:
    """Of a v1 indication of pipeline status the RNTI, DRB identity and limit in bytes of each
    bearer whose pacer has a limit; empty for other indications and for UEs without RNTI.

    For those who read nothing else, many times a second: a tenth of what :func:`decode` takes.

    Raises:
        CodecError: the bytes are no indication; says where and what was expected.
    """
    return _native.pacer_limits(bytes(data))


def validate(kind: Kind, value: Mapping[str, Any] | str) -> None:
    """Check that a v1 message makes sense: ranges, and how its elements fit together.

    Raises:
        ValidationError: it does not; ``element`` is the path of the first element at fault and
            ``cause`` what a RAN function would refuse it with.
        CodecError: the value does not have the shape of the message at all.
    """
    _native.validate(kind, _to_json(value))


def validate_pipeline(pipeline: Mapping[str, Any]) -> None:
    """Check that a pipeline makes sense; see :func:`validate`."""
    validate("pipeline", pipeline)


def template_schema(name: str) -> dict[str, Any]:
    """The JSON schema of the parameters of a template, one of ``TEMPLATES``.

    Raises:
        TemplateError: there is none of that name.
    """
    schema: dict[str, Any] = json.loads(_native.template_schema(name))
    return schema


def pipeline(template: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The v1 ``Pipeline`` of a template; a parameter that is not given has its default.

    Raises:
        TemplateError: there is none of that name, or it does not take these parameters;
            ``parameter`` is the path of the first at fault.
    """
    made: dict[str, Any] = json.loads(_native.pipeline(template, _to_json(parameters or {})))
    return made


def candidate(
    current: Mapping[str, Any],
    safe: Mapping[str, Any],
    change: Mapping[str, Any] | str,
    capabilities: Mapping[str, Any],
) -> dict[str, Any]:
    """The pipeline after the ``change`` of a transaction, as a node of these capabilities would
    have it. Of capabilities that are not given nothing is known to be missing.

    Raises:
        PipelineError: the node does not accept it; ``element`` is the path of what is at fault and
            ``cause`` what a RAN function refuses it with.
        CodecError: an argument does not have its shape.
    """
    arguments = (_to_json(each) for each in (current, safe, change, capabilities))
    after: dict[str, Any] = json.loads(_native.candidate(*arguments))
    return after


def check_pipeline(pipeline: Mapping[str, Any], capabilities: Mapping[str, Any]) -> None:
    """Check that a node of these capabilities takes a pipeline; raises as :func:`candidate`."""
    _native.check_pipeline(_to_json(pipeline), _to_json(capabilities))


def _to_json(value: Mapping[str, Any] | str) -> str:
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError) as error:
        raise _native.codec_error(f"value: {error}", "value") from error
