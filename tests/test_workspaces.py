"""The two Cargo workspaces agree: each shared dependency is built once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
Table = dict[str, Any]


def read(name: str) -> Table:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def locked(name: str) -> dict[str, set[str]]:
    """Versions of each crate in a lock file."""
    found: dict[str, set[str]] = {}
    for package in read(name)["package"]:
        found.setdefault(package["name"], set()).add(package["version"])
    return found


PRODUCT, LAB = read("Cargo.toml"), read("lab/Cargo.toml")


@pytest.mark.parametrize("table", ["package", "lints"])
def test_settings_are_equal(table: str) -> None:
    assert LAB["workspace"][table] == PRODUCT["workspace"][table]


def test_a_dependency_that_both_name_is_asked_for_alike() -> None:
    product, lab = (manifest["workspace"]["dependencies"] for manifest in (PRODUCT, LAB))
    own = {name for name, asked in product.items() if isinstance(asked, dict) and "path" in asked}
    shared = (product.keys() & lab.keys()) - own
    assert "serde" in shared
    assert {name: lab[name] for name in shared} == {name: product[name] for name in shared}


def test_profiles_are_equal_but_for_crates_of_one_workspace() -> None:
    product, lab = (
        {**manifest["profile"], "release": {**manifest["profile"]["release"]}}
        for manifest in (PRODUCT, LAB)
    )
    of_product = product["release"].pop("package")
    of_lab = lab["release"].pop("package")
    assert lab == product
    crates = {"product": locked("Cargo.lock"), "lab": locked("lab/Cargo.lock")}
    assert of_product.keys() <= crates["product"].keys()
    assert of_lab.keys() <= crates["lab"].keys()
    shared = {name: of_lab[name] for name in of_lab if name in crates["product"]}
    assert of_product == shared


def test_a_shared_crate_is_locked_at_the_same_versions() -> None:
    product, lab = locked("Cargo.lock"), locked("lab/Cargo.lock")
    other = {name: product[name] - lab[name] for name in product.keys() & lab.keys()}
    assert not {name: versions for name, versions in other.items() if versions}
