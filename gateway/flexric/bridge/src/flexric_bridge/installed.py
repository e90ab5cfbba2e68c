"""What the bridge finds installed: the SDK module and the service models, of one FlexRIC.

`preflight` says it before the bridge starts, so that an operator reads which piece is missing or of
another build, and not that the RIC aborts.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flexric_bridge.sdk import Sdk, SdkError
from flexric_bridge.session import MAKE_IT, missing_module

FLEXRIC_MODEL: Final = "libtc_sm.so"
"""FlexRIC's own TC service model; its build ID stands for that of FlexRIC."""
TC_MODEL: Final = "libsojourn_tc_sm.so"
"""E2SM-TC v1 as a service model of FlexRIC."""
_MARK: Final = re.compile(rb"SOJOURN_TC_MADE_FOR=([0-9a-f]*)\0")
_BUILD_ID: Final = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.DOTALL)
"""GNU note of an ELF file, little-endian: lengths of name and value, type 3, name, value."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence; `fatal`: the bridge cannot work."""

    text: str
    fatal: bool = False


def examine(sdk: str, libraries: Path) -> Iterator[Finding]:
    """Findings of the SDK's class, `module:name`, and of the folder of service models."""
    yield _module(sdk)
    yield _models(libraries)


def _module(sdk: str) -> Finding:
    if package := missing_module(sdk):
        return Finding(
            f"the SDK module {package} is not installed; expected it on the volume of"
            f" flexricBridge.native, from the image flexric-sdk (make stack-images); or {MAKE_IT}",
            fatal=True,
        )
    module, _, name = sdk.partition(":")
    try:
        instance: Sdk = getattr(importlib.import_module(module), name)()
        instance.load()
        versions = instance.versions()
    except (SdkError, OSError, ImportError) as error:
        return Finding(f"the SDK module does not fit FlexRIC's library: {error}", fatal=True)
    except AttributeError as error:
        return Finding(
            f"the SDK module is of another version of the bridge ({error}); {MAKE_IT} again",
            fatal=True,
        )
    return Finding(f"the SDK module is of FlexRIC with E2AP {versions.e2ap}, KPM {versions.kpm}")


def _models(libraries: Path) -> Finding:
    if not (libraries / FLEXRIC_MODEL).is_file():
        return Finding(
            f"{libraries}: has no {FLEXRIC_MODEL}; expected the service models of FlexRIC",
            fatal=True,
        )
    if not (libraries / TC_MODEL).is_file():
        return Finding(
            f"{libraries}: has no {TC_MODEL}: no E2SM-TC v1; nodes with TC v0 alone are controlled,"
            " and nodes that announce v1 end nearRT-RIC where it has none either (make flexric-sm)"
        )
    expected = _first(_BUILD_ID, libraries / FLEXRIC_MODEL).hex()
    found = _first(_MARK, libraries / TC_MODEL).decode()
    if found != expected:
        return Finding(
            f"{libraries / TC_MODEL}: made for the FlexRIC with build ID {found[:12] or 'none'};"
            f" expected {expected[:12] or 'none'}, that of {FLEXRIC_MODEL} beside it: build it with"
            " this FlexRIC (make stack-images, make flexric-sm)",
            fatal=True,
        )
    return Finding(f"E2SM-TC v1 is of the FlexRIC with build ID {expected[:12]}")


def _first(pattern: re.Pattern[bytes], file: Path) -> bytes:
    found = pattern.search(file.read_bytes())
    return b"" if found is None else found[1]
