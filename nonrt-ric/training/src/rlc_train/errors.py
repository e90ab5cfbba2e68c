"""What a command ends with when it cannot go on: one line for the user, exit status 2."""

from __future__ import annotations

import zlib
from typing import Final
from zipfile import BadZipFile

DAMAGED: Final = (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error)
"""What NumPy raises at an archive that is damaged, cut off or of something else."""


class TrainError(Exception):
    """Wrong input, or a part that is not there; the message says what and what was expected.

    Attributes:
        place: File, field or command that is wrong, or the whole message.
    """

    def __init__(self, place: str, message: str | None = None) -> None:
        self.place = place
        super().__init__(place if message is None else f"{place}: {message}")
