"""OpenAPI description of the A1-P server, generated from the policy types."""

from __future__ import annotations

from typing import Any, Final

from tc_controller.a1.types import TYPES

ROOT: Final = "/A1-P/v2"
POLICY_ID: Final = r"^[A-Za-z0-9._~-]{1,64}$"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

STATUS_SCHEMA: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "properties": {
        "enforceStatus": {"enum": ["ENFORCED", "NOT_ENFORCED"]},
        "enforceReason": {
            "enum": ["SCOPE_NOT_APPLICABLE", "STATEMENT_NOT_APPLICABLE", "OTHER_REASON"]
        },
        "detail": {"type": "string"},
    },
    "required": ["enforceStatus"],
    "additionalProperties": False,
}
_PROBLEM: Final = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def policy_type(type_id: str) -> dict[str, Any]:
    """The PolicyTypeObject."""
    schema = {"$schema": _DIALECT, **TYPES[type_id].model_json_schema()}
    return {"policySchema": schema, "statusSchema": STATUS_SCHEMA}


def _answer(text: str, schema: Any = None) -> dict[str, Any]:
    content = {} if schema is None else {"content": {"application/json": {"schema": schema}}}
    return {"description": text, **content}


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    problem = {
        "description": "What is wrong and where (RFC 9457).",
        "content": {"application/problem+json": {"schema": _PROBLEM}},
    }
    names = {"type": "array", "items": {"type": "string"}}
    whole = {"type": "object"}

    def operation(answers: dict[str, Any], in_path: tuple[str, ...], **more: Any) -> dict[str, Any]:
        schemas = {
            "policyTypeId": {"type": "string", "enum": list(TYPES)},
            "policyId": {"type": "string", "pattern": POLICY_ID},
        }
        listed: list[dict[str, Any]] = [
            {"name": name, "in": "path", "required": True, "schema": schemas[name]}
            for name in in_path
        ]
        listed += more.pop("parameters", [])
        return {"parameters": listed, "responses": {**answers, "default": problem}, **more}

    one, both = ("policyTypeId",), ("policyTypeId", "policyId")
    destination = {
        "name": "notificationDestination",
        "in": "query",
        "schema": {"type": "string", "format": "uri", "maxLength": 2000},
        "description": "URI to which each change of the status is posted.",
    }
    put = operation(
        {"200": _answer("Updated.", whole), "201": _answer("Created.", whole)},
        both,
        parameters=[destination],
        requestBody={
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"anyOf": [policy_type(each)["policySchema"] for each in TYPES]}
                }
            },
        },
    )
    # The schemas carry their definitions; within OpenAPI these are components.
    definitions: dict[str, Any] = {}
    for schema in put["requestBody"]["content"]["application/json"]["schema"]["anyOf"]:
        schema.pop("$schema")
        definitions |= schema.pop("$defs", {})
    base, policies = f"{ROOT}/policytypes", f"{ROOT}/policytypes/{{policyTypeId}}/policies"
    document = {
        "openapi": "3.1.0",
        "info": {"title": "A1-P of tc-controller", "version": "2"},
        "paths": {
            base: {"get": operation({"200": _answer("Policy type ids.", names)}, ())},
            f"{base}/{{policyTypeId}}": {
                "get": operation({"200": _answer("Policy type.", whole)}, one)
            },
            policies: {"get": operation({"200": _answer("Policy ids.", names)}, one)},
            f"{policies}/{{policyId}}": {
                "get": operation({"200": _answer("Policy.", whole)}, both),
                "put": put,
                "delete": operation({"204": _answer("Deleted.")}, both),
            },
            f"{policies}/{{policyId}}/status": {
                "get": operation({"200": _answer("Status.", STATUS_SCHEMA)}, both)
            },
        },
        "components": {"schemas": definitions},
    }
    moved = _moved(document)
    if not isinstance(moved, dict):
        raise TypeError("expected a document")
    return moved


def _moved(value: Any) -> Any:
    if isinstance(value, list):
        return [_moved(each) for each in value]
    if isinstance(value, dict):
        return {key: _moved(each) for key, each in value.items()}
    if isinstance(value, str):
        return value.replace("#/$defs/", "#/components/schemas/")
    return value
