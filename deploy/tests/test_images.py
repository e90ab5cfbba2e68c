"""The images of `make images`, run without a container engine; `make test-images`."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from confined import check_loop, confined, missing_namespaces, unpack
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "gnb-lab": "gnb-lab",
    "tc-controller": "tc-controller",
    "rlc-forecaster": "rlc-forecaster",
    "flexric-bridge": "flexric-bridge",
    "training": "rlc-train",
}
"""Image → its program."""
BUILD_FILES = sorted((ROOT / "deploy" / "images").glob("*.Containerfile"))


class Images:
    """Unpacked images, each unpacked once."""

    def __init__(self, archives: Path, folder: Path) -> None:
        self._archives = archives
        self._folder = folder
        self._config: dict[str, dict[str, Any]] = {}

    def root(self, name: str) -> Path:
        """The root file system of an image; skips the test if it was not built."""
        archive = self._archives / f"{name}.tar"
        if not archive.exists():
            pytest.skip(f"{archive}: not built; make images builds it")
        root = self._folder / name
        if name not in self._config:
            self._config[name] = unpack(archive, root)
        return root

    def config(self, name: str) -> dict[str, Any]:
        self.root(name)
        return self._config[name]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Images]:
    archives = os.environ.get("SOJOURN_TEST_IMAGES")
    if not archives:
        pytest.skip("images are not tested: SOJOURN_TEST_IMAGES is unset; make test-images sets it")
    if why := missing_namespaces():
        pytest.skip(f"images are not tested: no user namespaces: {why}")
    folder = tmp_path_factory.mktemp("images")
    yield Images(Path(archives).resolve(), folder)
    # Gigabytes that pytest would keep.
    shutil.rmtree(folder, ignore_errors=True)


def output(command: list[str]) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_image_runs_its_program_read_only_and_not_as_root(
    images: Images, name: str, tmp_path: Path
) -> None:
    program = PROGRAMS[name]
    config = images.config(name)
    assert config["Entrypoint"] == [program]
    assert config["User"] == "65532:65532"
    version = config["Labels"]["org.opencontainers.image.version"]
    in_image = partial(confined, images.root(name), tmp_path, program)
    assert output(in_image("--version")) == f"{program} {version}\n"
    assert "example" in output(in_image("--help")).lower()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "gnb-lab"])
def test_a_python_image_has_its_dependencies_and_bytecode(
    images: Images, name: str, tmp_path: Path
) -> None:
    check = (
        "import importlib.metadata as m, pathlib, re, sys\n"
        "names = {d.name.lower().replace('_', '-') for d in m.distributions()}\n"
        "needed = {re.split(r'[ ;<>=!~(\\[]', r)[0].lower().replace('_', '-').replace('.', '-')\n"
        "          for d in m.distributions() for r in d.requires or () if ';' not in r}\n"
        "root = pathlib.Path(m.__file__).parent\n"
        "print(sorted(needed - names), (root / '__pycache__').is_dir())\n"
    )
    command = confined(images.root(name), tmp_path, "python3", "-c", check)
    assert output(command) == "[] True\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bill_of_materials_has_all_that_is_installed(
    images: Images, name: str, tmp_path: Path
) -> None:
    root = images.root(name)
    archives = Path(os.environ["SOJOURN_TEST_IMAGES"])
    document = archives / f"{name}.cdx.json"
    built = json.loads((archives / f"{name}.json").read_text())
    assert hashlib.sha256(document.read_bytes()).hexdigest() == built["sbom_sha256"]
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(document.read_text()) is None
    components = json.loads(document.read_text())["components"]
    listed = {unquote(each["purl"].partition("?")[0]) for each in components}
    packages = {path.name for path in (root / "var/lib/dpkg/status.d").iterdir()}
    assert packages == {
        url.split("/")[-1].partition("@")[0] for url in listed if url.startswith("pkg:deb/")
    }
    if name == "gnb-lab":
        assert {"pkg:cargo/tokio", "pkg:cargo/e2sm-tc"} <= {url.partition("@")[0] for url in listed}
        return
    program = (
        "import importlib.metadata as m, re\n"
        "for d in m.distributions():\n"
        "    print(re.sub(r'[-_.]+', '-', d.name).lower() + '@' + d.version)\n"
    )
    installed = output(confined(root, tmp_path, "python3", "-c", program)).split()
    assert installed
    assert {f"pkg:pypi/{each}" for each in installed} <= listed


@pytest.mark.parametrize("name", ["tc-controller", "rlc-forecaster", "flexric-bridge"])
def test_the_image_of_a_program_that_runs_has_the_doctor(
    images: Images, name: str, tmp_path: Path
) -> None:
    root = images.root(name)
    assert "doctor" in output(confined(root, tmp_path, "ric", "doctor", "--help"))


async def test_the_images_close_the_loop(images: Images, tmp_path: Path) -> None:
    gnb_lab, tc_controller = (
        partial(confined, images.root(name), tmp_path) for name in ("gnb-lab", "tc-controller")
    )
    await check_loop(gnb_lab, tc_controller, tmp_path, Path("/tmp"))


@pytest.mark.parametrize("name", ["gnb-lab", "tc-controller"])
def test_a_second_build_gives_the_same_image(images: Images, name: str, tmp_path: Path) -> None:
    images.root(name)
    script = ROOT / "deploy" / "images" / "build_images.py"
    output([sys.executable, str(script), name, "--out", str(tmp_path)])
    first = Path(os.environ["SOJOURN_TEST_IMAGES"]) / f"{name}.json"
    second = tmp_path / f"{name}.json"
    assert json.loads(second.read_text()) == json.loads(first.read_text())


@pytest.mark.parametrize("path", BUILD_FILES, ids=lambda path: path.stem)
def test_hadolint_finds_nothing_in_a_build_file(path: Path) -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("build files of images are not linted: hadolint is not installed")
    # DL3006: the base image is an argument.
    command = [hadolint, "--ignore", "DL3006", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout + ran.stderr == ""
