"""Helm, helm-unittest and the Kubernetes schemas, where `make chart-tools` has installed them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_readme import CHART
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

KUBERNETES = "1.36.0"
"""Version that templates are rendered for."""
SEARCH_PATH = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
REGISTRY = "registry.example.org"
"""Registry of the images in rendered releases: it has no default."""
RENDERING = ("--kube-version", KUBERNETES, "--set", f"image.registry={REGISTRY}")
VALUES_FILES = sorted(
    [
        *CHART.glob("examples/*.yaml"),
        *CHART.glob("examples/*/sojourn.yaml"),
        *CHART.glob("ci/*.yaml"),
    ]
)


def tool(name: str) -> str:
    """Path of a tool; skips the test, with a sentence, where it is absent."""
    found = shutil.which(name, path=SEARCH_PATH)
    if found is None:
        pytest.skip(f"{name} is not on PATH; `make chart-tools` builds it where Go is installed")
    return found


def run(*command: str | Path) -> str:
    """Output of a command; fails the test with its errors if it fails."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def template(*arguments: str | Path, release: str = "s") -> list[dict[str, Any]]:
    """The objects of a release in the namespace `default`."""
    helm = tool("helm")
    text = run(helm, "template", release, CHART, *RENDERING, *arguments)
    # Dashboards are long: the loader in C is ten times as fast.
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


def refusal(*arguments: str) -> str:
    """The error with which Helm refuses values."""
    command = [tool("helm"), "template", "s", str(CHART), *RENDERING, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0, "these values were accepted"
    return done.stderr


@cache
def _definitions() -> tuple[Path, Registry[Any]]:
    """Directory of the Kubernetes schemas, and the definitions that they refer to."""
    spec = find_spec("kubernetes_validate")
    if spec is None or spec.origin is None:
        pytest.skip("kubernetes-validate is not installed; `make chart-tools` installs it")
    version = KUBERNETES.rpartition(".")[0]
    schemas = Path(spec.origin).parent / f"kubernetes-json-schema/v{version}.0-local-strict"
    definitions = json.loads((schemas / "_definitions.json").read_text(encoding="utf-8"))
    definitions.pop("$schema", None)
    resource: Resource[Any] = Resource.from_contents(definitions, default_specification=DRAFT202012)
    return schemas, Registry().with_resource("/api/_definitions.json", resource)


@cache
def _validator(api_version: str, kind: str) -> Draft202012Validator | None:
    """Validator of a kind; `None` for kinds that Kubernetes does not define."""
    schemas, registry = _definitions()
    group, _, version = api_version.rpartition("/")
    name = "-".join(filter(None, (kind.lower(), group.split(".")[0], version)))
    path = schemas / f"{name}.json"
    if not path.exists():
        return None
    schema = json.loads(path.read_text(encoding="utf-8"))
    return Draft202012Validator({**schema, "$id": f"/api/{path.name}"}, registry=registry)


def faults(manifest: dict[str, Any]) -> list[str]:
    """What is wrong with an object by the schema of Kubernetes, unknown fields included."""
    validator = _validator(manifest["apiVersion"], manifest["kind"])
    if validator is None:
        return []
    name = f"{manifest['kind']}/{manifest['metadata']['name']}"
    return [f"{name}: {e.json_path}: {e.message[:200]}" for e in validator.iter_errors(manifest)]
