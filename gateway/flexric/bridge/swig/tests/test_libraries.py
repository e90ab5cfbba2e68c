"""A directory that FlexRIC would end the process over is refused with a sentence."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from c_parts import Error

MISMATCH = 6


def said_of_libraries(library: ctypes.CDLL, directory: Path | str) -> str | None:
    error = Error()
    if library.fx_check_libraries(str(directory).encode(), ctypes.byref(error)):
        return None
    assert error.kind == MISMATCH
    return str(error.detail.decode())


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A directory as FlexRIC's installation makes it."""
    directory = tmp_path / "flexric"
    directory.mkdir()
    for name in ("librlc_sm.so", "libtc_sm.so", "flexric.conf"):
        (directory / name).touch()
    (directory / "more").mkdir()
    return directory


def test_service_models_pass(library: ctypes.CDLL, models: Path) -> None:
    assert said_of_libraries(library, models) is None


def test_another_file_is_named(library: ctypes.CDLL, models: Path) -> None:
    (models / "README").touch()
    assert "README is no service model" in (said_of_libraries(library, models) or "")


def test_an_empty_or_absent_directory_is_reported(library: ctypes.CDLL, tmp_path: Path) -> None:
    assert "there is no service model" in (said_of_libraries(library, tmp_path) or "")
    assert "there is no directory" in (said_of_libraries(library, tmp_path / "absent") or "")


def test_names_that_flexric_cannot_take_are_refused(library: ctypes.CDLL, tmp_path: Path) -> None:
    assert "FlexRIC takes 126" in (said_of_libraries(library, "/" + 126 * "x") or "")
    odd = tmp_path / "x.conf.d"
    odd.mkdir()
    assert '".conf" in its name' in (said_of_libraries(library, odd) or "")


def test_a_configuration_is_a_file(library: ctypes.CDLL, tmp_path: Path) -> None:
    error = Error()
    (tmp_path / "flexric.conf").touch()
    good = str(tmp_path / "flexric.conf").encode()
    assert library.fx_check_configuration(good, ctypes.byref(error))
    for bad in (tmp_path, tmp_path / "absent", "/" + 126 * "x"):
        assert not library.fx_check_configuration(str(bad).encode(), ctypes.byref(error))
        assert error.kind == MISMATCH
