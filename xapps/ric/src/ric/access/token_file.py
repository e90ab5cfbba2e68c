"""The token that a client shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ric.errors import SettingsError
from ric.files import UnreadableFile, read_file

_TOKEN: Final = re.compile(rb"[!-~]{32,512}")
_MAX_FILE_BYTES: Final = 64 * 1024


def read_token(path: Path, place: str) -> bytes:
    """The token in the first line of a file; raises `SettingsError` starting with `place`."""
    try:
        content = read_file(path, _MAX_FILE_BYTES)
    except UnreadableFile as error:
        raise SettingsError([f"{place}: {error}"]) from None
    token = content.partition(b"\n")[0].rstrip(b"\r")
    if not _TOKEN.fullmatch(token):
        raise SettingsError(
            [
                f"{place}: {path}: not a token; expected 32 to 512 printable ASCII characters "
                "without spaces in the first line"
            ]
        )
    return token
