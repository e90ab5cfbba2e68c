"""`make stack-images`: what its build file names is there, and wrong sources are refused."""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

import pytest
from build_images import STACK, BuildError
from build_stack import FLEXRIC_FILE, GNB, OAI_FILE, OAI_FLEXRIC, contexts

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "deploy/images/stack.Containerfile"
LINES = FILE.read_text().replace("\\\n", " ").splitlines()
INSTRUCTIONS = [line.split(maxsplit=1) for line in LINES if line and not line.startswith("#")]
BUILT = (".venv/include/sojourn_gnb.h", ".venv/lib/libsojourn_gnb.a")
"""Made by `make programs`."""


def sources(folder: Path) -> argparse.Namespace:
    """Trees of FlexRIC and OAI that have what is looked for."""
    for file in (f"flexric/{FLEXRIC_FILE}", f"oai/{OAI_FILE}", f"oai/{OAI_FLEXRIC}/{FLEXRIC_FILE}"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    flexric, oai = folder / "flexric", folder / "oai"
    return argparse.Namespace(flexric=flexric, oai=oai, asn1c=None, simde=None, cpm=None)


def test_the_build_file_names_stages_contexts_and_files_that_are_there(tmp_path: Path) -> None:
    copies = [given for name, given in INSTRUCTIONS if name == "COPY"]
    bases = [given.split() for name, given in INSTRUCTIONS if name == "FROM"]
    stages = {words[2] for words in bases}
    assert set(STACK) <= stages
    assert {words[0] for words in bases} <= stages | {"${DEBIAN}"}
    known = stages | contexts(sources(tmp_path), GNB, tmp_path).keys()
    assert set(re.findall(r"--from=(\S+)", " ".join(copies))) <= known
    ours = [given.split()[0] for given in copies if "--from=" not in given]
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    for path in ours:
        assert f"!{path}" in allowed
        assert path in BUILT or (ROOT / path).exists()
    named = re.findall(r" /sojourn/((?:gateway|ran-function)\S+\.(?:py|cmake))", FILE.read_text())
    assert len(named) == 2
    assert all((ROOT / path).is_file() for path in named)


def test_the_gnb_is_built_of_the_flexric_in_its_own_tree(tmp_path: Path) -> None:
    given = sources(tmp_path)
    assert contexts(given, "nearrt-ric", tmp_path)["flexric-source"] == given.flexric
    assert contexts(given, GNB, tmp_path)["flexric-source"] == given.oai / OAI_FLEXRIC


@pytest.mark.parametrize(
    ("removed", "image", "named"),
    [
        (f"flexric/{FLEXRIC_FILE}", "flexric-sdk", "FLEXRIC_SRC=.*has no src/xApp"),
        (f"oai/{OAI_FLEXRIC}/{FLEXRIC_FILE}", GNB, f"OAI_SRC=.*{OAI_FLEXRIC}: has no src/xApp"),
        (f"oai/{OAI_FILE}", GNB, "OAI_SRC=.*expected OAI's source tree"),
    ],
)
def test_a_source_that_is_another_is_refused(
    tmp_path: Path, removed: str, image: str, named: str
) -> None:
    given = sources(tmp_path)
    (tmp_path / removed).unlink()
    with pytest.raises(BuildError, match=named):
        contexts(given, image, tmp_path)


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (["stack-images", "FLEXRIC_SRC=/none"], "stack-images: FLEXRIC_SRC=/none: has no src/xApp"),
        (["push", "REGISTRY=r.example", "ARCHIVES=/none"], "make push: no archive in /none"),
    ],
)
def test_commands_of_make_find_their_modules(given: list[str], answer: str) -> None:
    command = ["make", "--no-print-directory", "--old-file=.venv/.tools", *given]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer in ran.stderr
