"""The units: systemd accepts them, they are confined, programs know their flags and settings."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy/systemd"
PAGE = ROOT / "docs/bare-metal.md"
PROGRAMS = ("flexric-bridge", "tc-controller", "rlc-forecaster")
EXPOSURE = 1.5
"""Most that `systemd-analyze security` may find, of 10."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root file system with the units installed as the page says, and programs that are there."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("units are not tested: no systemd-analyze; Debian's package systemd has it")
    shutil.copytree(FOLDER, tmp_path / "etc/systemd/system")
    systems = Path("usr/lib/systemd/system")
    shutil.copytree(Path("/") / systems, tmp_path / systems, symlinks=True)
    programs = tmp_path / "opt/sojourn/bin"
    programs.mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy("/bin/true", programs / name)
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS)
def test_systemd_accepts_a_unit_and_finds_it_confined(root: Path, program: str) -> None:
    unit = f"sojourn-{program}.service"

    def analyze(*given: str) -> str:
        command = ["systemd-analyze", *given, f"--root={root}", unit]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    assert analyze("verify", "--recursive-errors=no") == ""
    (found,) = re.findall(r"exposure level for \S+ ([0-9.]+)", analyze("security", "--offline=yes"))
    assert float(found) <= EXPOSURE


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_accepts_the_flags_of_its_unit_and_the_settings_of_the_page(
    program: str, tmp_path: Path
) -> None:
    unit = (FOLDER / f"sojourn-{program}.service").read_text().replace("\\\n", " ")
    (command,) = re.findall(r"^ExecStart=/opt/sojourn/bin/(.*)$", unit, re.MULTILINE)
    folders = command.replace("%S", str(tmp_path)).replace("/opt/flexric-sdk", str(tmp_path))
    (tmp_path / "lib/flexric").mkdir(parents=True)
    name, *flags = folders.split()
    (config,) = (flag for flag in flags if flag.startswith("--config="))
    path = config.removeprefix("--config=")
    (settings,) = re.findall(rf"# {path}\n((?:   [^#`].*\n)+)", PAGE.read_text())
    # With a setting that none has, for which alone a program that accepts the rest does not start.
    given = tmp_path / "settings.yaml"
    given.write_text("\n".join(line[3:] for line in settings.splitlines()) + "\nnonsense: 1\n")
    ran = subprocess.run(
        [Path(sys.executable).parent / name, *flags, f"--config={given}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert re.fullmatch(rf"{program}: settings.yaml: nonsense: unknown key.*\n", ran.stderr)
