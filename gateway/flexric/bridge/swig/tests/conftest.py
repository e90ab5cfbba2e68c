"""The C of the SWIG module that needs no FlexRIC, compiled and called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from c_parts import Fence

SOURCES = (
    *("error.c", "tc_v0.c", "reports.c", "ring.c", "outlet.c", "exchange.c"),
    *("libraries.c", "per.c", "kpm_report.c"),
)
WARNINGS = ("-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g")
HERE = Path(__file__).parent.parent
TC_SERVICE_MODEL = HERE.parents[1] / "service-model" / "include"
# Behind all else: there is a build.py as well, whose name others have.
sys.path.append(str(HERE))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The C sources as one shared object."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    made = tmp_path_factory.mktemp("swig") / "parts.so"
    sources = [str(HERE / name) for name in SOURCES]
    subprocess.run(
        [
            compiler,
            *WARNINGS,
            "-I",
            str(TC_SERVICE_MODEL),
            "-shared",
            "-fPIC",
            "-pthread",
            *sources,
            "-lm",
            "-o",
            str(made),
        ],
        check=True,
    )
    loaded = ctypes.CDLL(str(made))
    for name in ("fx_tc_v0_check_header", "fx_tc_v0_check_control", "fx_ring_open"):
        getattr(loaded, name).restype = ctypes.c_bool
    for name in ("fx_check_libraries", "fx_check_configuration", "fx_ring_is_empty"):
        getattr(loaded, name).restype = ctypes.c_bool
    for name in ("fx_outlet_open", "fx_outlet_waits"):
        getattr(loaded, name).restype = ctypes.c_bool
    for name in ("fx_collected_at_us", "fx_widen_us"):
        getattr(loaded, name).restype = ctypes.c_uint64
    loaded.fx_ring_take.restype = ctypes.c_size_t
    loaded.fx_kind_name.restype = ctypes.c_char_p
    return loaded


@pytest.fixture(scope="session")
def fence() -> Fence:
    return Fence()
