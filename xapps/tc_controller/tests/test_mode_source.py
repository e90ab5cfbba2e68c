"""Whose word about the mode counts: the configuration's when it changes, else the last one's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ric.clock import SystemClock
from ric.errors import SettingsError
from tc_controller.core.mode import Mode
from tc_controller.mode_source import ModeSource
from tc_controller.settings import ControllerSettings


class AtNoon(SystemClock):
    """A clock that stands still."""

    def now_us(self) -> int:
        return 43_200_000_000


def source(folder: Path, **settings: Any) -> ModeSource:
    return ModeSource(ControllerSettings(mode_state=folder / "mode.json", **settings), AtNoon())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mode"
    path.write_text("act\n")
    return path


def test_a_changed_file_is_heard_and_the_same_word_is_not(tmp_path: Path, file: Path) -> None:
    mode = source(tmp_path, mode_file=file)
    assert not mode.reload()
    file.write_text("observe")
    assert mode.reload()
    assert mode.mode is Mode.OBSERVE
    assert (mode.condition().ok, mode.condition().detail) == (True, "observe")


def test_what_somebody_sets_stays_over_restarts_until_the_file_changes(
    tmp_path: Path, file: Path
) -> None:
    source(tmp_path, mode_file=file).set(Mode.OFF, "noc")
    again = source(tmp_path, mode_file=file)
    assert again.document()["by"] == "noc"
    assert again.document()["since_us"] == 43_200_000_000
    assert again.condition().detail == "off, set by noc"
    # What the file says already is no news, though GitOps tools repeat it at each synchronisation.
    assert not again.configure(Mode.ACT)
    assert not again.reload()
    assert again.mode is Mode.OFF
    file.write_text("observe")
    assert again.reload()
    assert source(tmp_path, mode_file=file).mode is Mode.OBSERVE


def test_a_configuration_that_is_announced_is_in_force_before_the_file(
    tmp_path: Path, file: Path
) -> None:
    mode = source(tmp_path, mode_file=file)
    assert mode.configure(Mode.OFF)
    # Also when the program starts again before kubelet has replaced the file.
    again = source(tmp_path, mode_file=file)
    assert again.mode is Mode.OFF
    again.set(Mode.ACT, "noc")
    file.write_text("off")
    assert not again.reload(), "the file says what was announced: no news"
    assert again.document()["mode"] == "act"


def test_a_file_without_a_mode_is_refused_at_the_start_and_ignored_later(
    tmp_path: Path, file: Path
) -> None:
    mode = source(tmp_path, mode_file=file)
    file.write_text("aus")
    assert not mode.reload()
    assert mode.mode is Mode.ACT
    with pytest.raises(SettingsError, match="'aus'; expected one of off, observe, act"):
        source(tmp_path, mode_file=file)
    with pytest.raises(SettingsError, match="mode_file: "):
        source(tmp_path, mode_file=tmp_path / "absent")


def test_what_was_kept_by_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mode.json").write_text('{"mode": "off"}')
    with pytest.raises(SettingsError, match=r"mode\.json: .*expected what this program wrote"):
        source(tmp_path)


def test_a_mode_that_cannot_be_kept_is_in_force(tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_text("")
    settings = ControllerSettings(mode_state=tmp_path / "in-the-way" / "mode.json")
    with pytest.raises(SettingsError):
        ModeSource(settings, AtNoon())
    mode = source(tmp_path)
    (tmp_path / "mode.json").mkdir()
    with pytest.raises(OSError, match="mode"):
        mode.set(Mode.OFF, "noc")
    assert mode.mode is Mode.OFF
