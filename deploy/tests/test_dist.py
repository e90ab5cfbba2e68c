"""The files of `make dist`: their sums, and the wheels alone in a fresh environment."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confined import check_loop

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("tc-controller", "rlc-forecaster", "flexric-bridge", "ric", "rlc-train", "rlc-model")


@pytest.fixture(scope="module")
def dist() -> Path:
    folder = os.environ.get("SOJOURN_TEST_DIST")
    if not folder:
        pytest.skip("wheels are not tested: SOJOURN_TEST_DIST is unset; make test-dist sets it")
    return Path(folder).resolve()


@pytest.fixture(scope="module")
def environment(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of programs of an environment with nothing but the wheels and what they need."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    wheels = [str(path) for path in (dist / "wheels").glob("*.whl")]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")),
            *("install", "--quiet", "-c", str(ROOT / "constraints.txt"), *wheels),
        ],
        check=True,
    )
    # Not in a wheel.
    shutil.copy(dist / "bin" / "gnb-lab", folder / "bin")
    yield folder / "bin"
    # Half a gigabyte that pytest would keep.
    shutil.rmtree(folder, ignore_errors=True)


def test_every_file_has_its_sum(dist: Path) -> None:
    lines = (dist / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = {str(path.relative_to(dist)) for path in dist.rglob("*") if path.is_file()}
    assert sums.keys() == files - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_wheels_prints_their_version(
    dist: Path, environment: Path, program: str
) -> None:
    version = json.loads((dist / "build.json").read_text())["version"]
    command = [str(environment / program), "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{program} {version}\n"


async def test_the_wheels_close_the_loop(environment: Path, tmp_path: Path) -> None:
    def command(program: str, *arguments: str) -> list[str]:
        return [str(environment / program), *arguments]

    await check_loop(command, command, tmp_path, tmp_path)
