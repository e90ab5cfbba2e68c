"""Which piece of FlexRIC's SDK is missing or of another build, as a preflight says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from flexric_bridge.cli import main
from flexric_bridge.installed import FLEXRIC_MODEL, TC_MODEL, Finding, examine

FAKE = "fake_sdk:FakeSdk"
PAGE = Path(__file__).resolve().parents[4] / "docs/deploy.md"
FLEXRIC = "5e" * 20
"""Build ID of FlexRIC's service model."""


def library(path: Path, text: str = "", build_id: str = FLEXRIC) -> None:
    """Compile a shared object with this build ID that holds the text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    source.write_text(f'const char text[] = "{text}";\n')
    command = ["cc", "-shared", f"-Wl,--build-id=0x{build_id}", "-o", str(path), str(source)]
    subprocess.run(command, check=True)


def models(folder: Path, made_for: str = FLEXRIC) -> Path:
    """A folder of service models; that of E2SM-TC v1 is made for FlexRIC's own by default."""
    library(folder / FLEXRIC_MODEL)
    library(folder / TC_MODEL, f"SOJOURN_TC_MADE_FOR={made_for}", "77" * 20)
    return folder


def found(libraries: Path, sdk: str = FAKE) -> list[Finding]:
    """Findings; those that want an operator are explained on the page of the chart."""
    findings = list(examine(sdk, libraries))
    explained = re.findall(r"^\| `(.*?)` \|", PAGE.read_text(), re.MULTILINE)
    patterns = [".*".join(map(re.escape, row.split("…"))) for row in explained]
    for finding in findings:
        fits = any(re.search(pattern, finding.text) for pattern in patterns)
        assert fits == (" of FlexRIC with " not in finding.text and "v1 is of" not in finding.text)
    return findings


def test_pieces_of_one_build_are_named_with_it(tmp_path: Path) -> None:
    module, model = found(models(tmp_path))
    assert module == Finding("the SDK module is of FlexRIC with E2AP fake, KPM fake")
    assert model == Finding("E2SM-TC v1 is of the FlexRIC with build ID 5e5e5e5e5e5e")


def test_a_module_that_is_missing_or_of_another_flexric_is_fatal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing, _ = found(models(tmp_path), sdk="not_there:Sdk")
    assert missing.fatal
    assert missing.text.startswith("the SDK module not_there is not installed; expected it on")
    monkeypatch.setenv("FAKE_MISMATCH", "built for SHA-256 1234; found 5678")
    other, _ = found(tmp_path)
    assert other.fatal
    assert "does not fit FlexRIC's library: FlexRIC: mismatch: built for SHA-256 1234" in other.text


def test_a_service_model_of_another_flexric_is_fatal(tmp_path: Path) -> None:
    _, model = found(models(tmp_path, made_for="ab" * 20))
    assert model.fatal
    assert "made for the FlexRIC with build ID abababababab; expected " in model.text


def test_without_the_service_model_v0_remains(tmp_path: Path) -> None:
    library(tmp_path / FLEXRIC_MODEL)
    _, model = found(tmp_path)
    assert not model.fatal
    assert "has no libsojourn_tc_sm.so: no E2SM-TC v1; nodes with TC v0 alone" in model.text
    _, empty = found(tmp_path / "none")
    assert empty == Finding(
        f"{tmp_path / 'none'}: has no libtc_sm.so; expected the service models of FlexRIC", True
    )


def test_the_command_fails_where_the_bridge_could_not_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--ric=localhost", f"--libraries={models(tmp_path, made_for='')}", f"--sdk={FAKE}"]
    assert main(["preflight", *flags, "--wait-s=60"]) == 2
    assert "made for the FlexRIC with build ID none; expected" in capsys.readouterr().out
