"""Reference pages generated from the programs: schemas, settings, commands, interfaces, API.

Each function returns the Markdown of a page; `PAGES` maps pages to functions.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from pydantic_core import PydanticUndefined
from ric.flags import Setting, settings_of

ROOT: Final = Path(__file__).resolve().parents[2]
BIN: Final = Path(sys.executable).parent
RUST_DOCS: Final = ROOT / os.environ.get("RUST_DOCS", "target/doc")
"""Where ``cargo doc`` writes; ``make docs`` names it."""
PROGRAMS: Final = (
    "gnb-lab", "e2sm-tc", "tc-controller", "rlc-forecaster", "flexric-bridge", "ric", "ric-sm",
    "rlc-model", "rlc-train", "sojourn-demo",
)  # fmt: skip
SETTINGS: Final = {
    "tc-controller": "tc_controller.settings:ControllerSettings",
    "rlc-forecaster": "rlc_forecaster.settings:ForecasterSettings",
    "flexric-bridge": "flexric_bridge.settings:BridgeSettings",
}
METRICS: Final = (
    "ric.metrics",
    "ric.security",
    "tc_controller.metrics",
    "tc_controller.service_metrics",
    "tc_controller.worst_bearers",
    "rlc_forecaster.metrics",
    "flexric_bridge.metrics",
)

Schema = Mapping[str, Any]


def run(*command: str) -> str:
    """Standard output of a program of the environment."""
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "88", "NO_COLOR": "1"},
    )
    return done.stdout


# Schemas ------------------------------------------------------------------------------------------


def schema_page(title: str, intro: str, schema: Schema) -> str:
    """A JSON schema as tables: one for the file, one for each definition."""
    parts = [f"# {title}", intro, *_definition("The file", schema)]
    for name, definition in sorted(schema.get("$defs", {}).items()):
        parts += _definition(name, definition)
    return "\n\n".join(parts) + "\n"


def _definition(name: str, schema: Schema) -> Iterator[str]:
    yield f"## {name}"
    if schema.get("description"):
        yield _prose(schema["description"])
    variants = schema.get("oneOf") or schema.get("anyOf") or []
    tabled = [each for each in variants if len(each.get("properties", {})) > 1]
    if listed := [each for each in variants if each not in tabled]:
        yield "One of:\n\n" + "\n".join(f"- {_variant(each)}" for each in listed)
    for variant in tabled:
        constants = (each["const"] for each in variant["properties"].values() if "const" in each)
        kinds = ", ".join(map(str, constants))
        yield f"### {name}: {variant.get('title') or kinds or 'as a mapping'}"
        yield _table(variant)
    if schema.get("properties"):
        yield _table(schema)
    elif not variants:
        yield _type(schema)


def _variant(schema: Schema) -> str:
    meaning = f": {_cell(schema['description'])}" if schema.get("description") else ""
    return _type(schema) + meaning


def _table(schema: Schema) -> str:
    required = schema.get("required", [])
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, value in schema["properties"].items():
        default = "required" if key in required else _default(value.get("default"))
        rows.append(f"| `{key}` | {_type(value)} | {default} | {_cell(value.get('description'))} |")
    return "\n".join(rows)


def _default(value: object) -> str:
    return "" if value is None or isinstance(value, dict) else f"`{_cell(json.dumps(value))}`"


def _type(schema: Schema) -> str:
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        shown = f"[{name}](#{name.lower()})"
    elif "const" in schema:
        shown = f"`{schema['const']}`"
    elif "enum" in schema:
        shown = ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    elif alternatives:
        kinds = (_type(each) for each in alternatives if each.get("type") != "null")
        shown = " or ".join(dict.fromkeys(kinds))
    else:
        shown = _plain_type(schema)
    return shown


def _plain_type(schema: Schema) -> str:
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        kind = " or ".join(each for each in kind if each != "null")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"mapping to {_type(schema['additionalProperties'])}"
    if kind == "object" and len(schema.get("properties", {})) == 1:
        key, value = next(iter(schema["properties"].items()))
        return f"`{key}:` {_type(value)}"
    low = schema.get("minimum", schema.get("exclusiveMinimum", ""))
    high = schema.get("maximum", schema.get("exclusiveMaximum", ""))
    return str(kind) if low == high == "" else f"{kind}, {low}…{high}"


def _prose(text: str) -> str:
    """Descriptions are Markdown or reStructuredText; of the latter, only its double backticks."""
    return re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", text.replace("``", "`"))


def _cell(text: str | None) -> str:
    return " ".join(_prose(text or "").split()).replace("|", "\\|").replace("<", "&lt;")


def scenario() -> str:
    """The scenario file of the lab."""
    intro = (
        "A scenario describes a cell, its UEs with their bearers, and the traffic. `gnb-lab run` "
        "checks a file; `gnb-lab schema` prints this as JSON schema."
    )
    return schema_page("Scenario file", intro, json.loads(run("gnb-lab", "schema")))


def policy() -> str:
    """The policy file of the controller."""
    intro = (
        "Check a file with `tc-controller check FILE`; `tc-controller schema` prints this as JSON "
        "schema."
    )
    return schema_page("Policy file", intro, json.loads(run("tc-controller", "schema")))


def access() -> str:
    """The access file."""
    path = ROOT / "gateway" / "access" / "access.schema.json"
    intro = "The file of `--access` of every program; see [Secure](../docs/secure.md)."
    return schema_page("Access file", intro, json.loads(path.read_text()))


def manifest() -> str:
    """The manifest of a model directory."""
    path = ROOT / "nonrt-ric" / "model_contract" / "manifest.schema.json"
    intro = "`manifest.json` of a model directory. Check a directory with `rlc-model check DIR`."
    return schema_page("Model manifest", intro, json.loads(path.read_text()))


# Settings and commands ----------------------------------------------------------------------------


def settings() -> str:
    """The settings of each program, by group as in its help."""
    parts = [
        "# Settings",
        "A setting comes from a YAML file (`--config FILE`), the environment or a flag; the later "
        "wins. `gateway.tls.ca_file` of the file is `SOJOURN_GATEWAY__TLS__CA_FILE` in the "
        "environment. All wrong values are reported at once, each with its origin. Secrets are "
        "hidden where settings are printed.",
    ]
    for program, place in SETTINGS.items():
        module, name = place.split(":")
        parts.append(f"## {program}")
        declared = settings_of(getattr(import_module(module), name))
        ordered = sorted(declared, key=lambda each: (each.group != "General", each.group))
        for group, members in groupby(ordered, key=lambda each: each.group):
            rows = ["| file | flag | default | meaning |", "|---|---|---|---|"]
            rows += [_setting(each) for each in members]
            parts.append(f"{group}:\n\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _setting(setting: Setting) -> str:
    default = setting.field.get_default(call_default_factory=True, validated_data={})
    unset = default is None or default is PydanticUndefined or isinstance(default, SecretStr)
    shown = "" if unset else f"`{_cell(str(default))}`"
    path, meaning = ".".join(setting.path), _cell(setting.field.description)
    return f"| `{path}` | `{setting.flag}` | {shown} | {meaning} |"


def commands() -> str:
    """The help of every program and of its commands."""
    parts = ["# Commands", "The output of `--help` of every program. `make setup` installs them."]
    for program in PROGRAMS:
        text = run(program, "--help")
        parts += [f"## {program}", _block(text)]
        for command in subcommands(text):
            parts += [f"### {program} {command}", _block(run(program, command, "--help"))]
    return "\n\n".join(parts) + "\n"


def subcommands(text: str) -> list[str]:
    """The commands that a help text of argparse or clap lists."""
    if found := re.search(r"\{([a-z0-9,-]+)\} \.\.\.", " ".join(text.split())):
        return found[1].split(",")
    listed = re.search(r"^Commands:\n((?: +.*\n)+)", text, re.MULTILINE)
    names = re.findall(r"^  ([a-z][a-z0-9-]*)", listed[1], re.MULTILINE) if listed else []
    return [name for name in names if name != "help"]


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


# Interfaces and API -------------------------------------------------------------------------------


def grpc() -> str:
    """The protobuf files."""
    parts = ["# gRPC interfaces", "The services and messages, as in `interfaces/proto`."]
    for path in sorted((ROOT / "interfaces" / "proto").rglob("*.proto")):
        parts += [f"## {path.name}", _block(path.read_text(), "protobuf")]
    return "\n\n".join(parts) + "\n"


def metrics() -> str:
    """Metrics of the Python programs by their modules' docstrings, of the lab by a scrape."""
    parts = ["# Metrics", "Served at `/metrics` of each program, in the Prometheus text format."]
    parts += [f"## {name}\n\n{_prose(str(import_module(name).__doc__))}" for name in METRICS]
    rows = ["| metric | type | meaning |", "|---|---|---|"]
    for family in text_string_to_metric_families(_scrape_lab()):
        if family.type == "unknown":  # samples without a type of their own
            continue
        total = "_total" if family.type == "counter" else ""
        rows.append(f"| `{family.name}{total}` | {family.type} | {_cell(family.documentation)} |")
    parts.append("## gnb-lab serve, flexric-node\n\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _scrape_lab() -> str:
    """The /metrics page of the default scenario.

    Raises:
        RuntimeError: The program did not start.
    """
    command = [str(BIN / "gnb-lab"), "serve", str(ROOT / "lab/scenarios/default.yaml")]
    command += ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--duration", "60"]
    command += ["--metrics-detail", "distributions,flows"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as lab:
        try:
            line = lab.stdout.readline() if lab.stdout else ""
            if not line:
                raise RuntimeError("gnb-lab serve: ended before it was ready")
            with urlopen(f"http://{json.loads(line)['metrics']}/metrics", timeout=10) as answer:
                return str(answer.read(), "utf-8")
        finally:
            lab.terminate()


def distributions() -> list[Path]:
    """The folders of the Python distributions, as the Makefile installs them."""
    found = re.search(
        r"^PACKAGES := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    if found is None:
        raise ValueError("Makefile: no list PACKAGES")
    return [ROOT / folder for folder in found[1].replace("\\\n", " ").split()]


def python_pages() -> dict[str, str]:
    """A page for each package of each distribution, and an index of them."""
    made = {}
    rows = ["| distribution | packages |", "|---|---|"]
    for folder in distributions():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        source = folder / "src"
        packages = sorted(
            ".".join(found.parent.relative_to(source).parts)
            for found in source.rglob("__init__.py")
        )
        for package in packages:
            made[f"reference/python/{package}.md"] = _package(source, package)
        listed = ", ".join(f"[`{each}`]({each}.md)" for each in packages)
        if packages:
            rows.append(f"| {project['name']}: {project.get('description', '')} | {listed} |")
    made["reference/python/index.md"] = "# Python API\n\n" + "\n".join(rows) + "\n"
    return made


def _package(source: Path, package: str) -> str:
    folder = source.joinpath(*package.split("."))
    modules = [package] + [
        f"{package}.{path.stem}"
        for path in sorted(folder.glob("*.py"))
        if not path.stem.startswith("_") and not path.stem.endswith(("_pb2", "_pb2_grpc"))
    ]
    return f"# {package}\n\n" + "\n\n".join(f"::: {module}" for module in modules) + "\n"


def rust() -> str:
    """The crates, linked to what ``cargo doc`` wrote."""
    command = ("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--offline")
    packages = [
        package
        for workspace in (ROOT, ROOT / "lab")
        for package in json.loads(
            subprocess.run(
                command, cwd=workspace, capture_output=True, text=True, check=True
            ).stdout
        )["packages"]
    ]
    rows = ["| crate | what it is |", "|---|---|"]
    for package in sorted(packages, key=lambda each: str(each["name"])):
        # A program and a library of the same name share the first target's folder.
        folder = str(package["targets"][0]["name"]).replace("-", "_")
        if (RUST_DOCS / folder).is_dir() and not package["name"].endswith("-python"):
            link = f'<a href="../rust/{folder}/index.html">{package["name"]}</a>'
            rows.append(f"| {link} | {package['description'] or ''} |")
    return "# Rust crates\n\nWritten by `cargo doc`.\n\n" + "\n".join(rows) + "\n"


PAGES: Final[dict[str, Callable[[], str]]] = {
    "reference/scenario.md": scenario,
    "reference/policy.md": policy,
    "reference/access.md": access,
    "reference/manifest.md": manifest,
    "reference/settings.md": settings,
    "reference/commands.md": commands,
    "reference/metrics.md": metrics,
    "reference/grpc.md": grpc,
    "reference/rust.md": rust,
}
