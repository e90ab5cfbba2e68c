"""Writes values.schema.json: helm/schema/values.json with what the programs accept.

`python helm/chart_schema.py` writes it; `--check` exits with 1 if it is not up to date. Helm reads
one file, so the schemas of settings and policy are copied into it; a setting that no program has is
then refused before anything is installed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from flexric_bridge.settings import BridgeSettings
from pydantic import BaseModel
from rlc_forecaster.settings import ForecasterSettings
from tc_controller.core.policy.schema import Policy
from tc_controller.settings import ControllerSettings

SOURCE: Final = Path(__file__).parent / "schema" / "values.json"
"""The chart's own values."""
TARGET: Final = Path(__file__).parent / "sojourn" / "values.schema.json"
SETTINGS: Final[dict[str, type[BaseModel]]] = {
    "controllerSettings": ControllerSettings,
    "forecasterSettings": ForecasterSettings,
    "bridgeSettings": BridgeSettings,
}
"""Name in `$defs` → settings of a program."""
REF: Final = "#/$defs/"


def values_schema() -> dict[str, Any]:
    """The schema of the values, with `$defs` of what the programs accept."""
    schema: dict[str, Any] = json.loads(SOURCE.read_text(encoding="utf-8"))
    for name, model in SETTINGS.items():
        # The chart's settings are merged with those given, so that none is missing.
        schema["$defs"] |= _definitions(name, model.model_json_schema(), partial=True)
    policy = _definitions("policyContent", Policy.model_json_schema(), partial=False)
    schema["$defs"] |= policy
    return schema


def _definitions(name: str, schema: dict[str, Any], *, partial: bool) -> dict[str, Any]:
    """A program's schema as `name`, and its `$defs` as `name.…`; `partial`: nothing is required."""
    definitions = schema.pop("$defs", {})
    named = {name: schema, **{f"{name}.{key}": each for key, each in definitions.items()}}
    found: dict[str, Any] = _adapted(named, f"{REF}{name}.", partial=partial)
    return found


def _adapted(node: Any, prefix: str, *, partial: bool, names: bool = True) -> Any:
    """A copy whose references begin with `prefix`, without titles; `names`: keys are names."""
    if isinstance(node, list):
        return [_adapted(each, prefix, partial=partial, names=False) for each in node]
    if not isinstance(node, dict):
        return node
    copy: dict[str, Any] = {}
    for key, value in node.items():
        if not names and (key == "title" or (partial and key == "required")):
            continue
        if not names and key == "$ref":
            copy[key] = prefix + value.removeprefix(REF)
        elif not names and key in ("default", "examples", "enum", "const"):
            copy[key] = value
        else:
            below = not names and key in ("properties", "patternProperties")
            copy[key] = _adapted(value, prefix, partial=partial, names=below)
    return copy


def text() -> str:
    """The file's content."""
    return json.dumps(values_schema(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write or check; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args().check:
        same = TARGET.read_text(encoding="utf-8") == text()
        if not same:
            sys.stderr.write(f"{TARGET}: not up to date; run python {sys.argv[0]}\n")
        return int(not same)
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
