"""Arrays kept in files instead of memory, for data sets that are larger than it."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError

Kind = TypeVar("Kind", bound=np.generic)


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Declares ``--stream``."""
    parser.add_argument(
        "--stream",
        action="store_true",
        help="keep the samples in files of the run directory, for data sets larger than memory",
    )


class Spool:
    """Files of a directory without names, which vanish with the process."""

    def __init__(self, directory: Path) -> None:
        """Creates the directory.

        Raises:
            TrainError: It cannot be created.
        """
        self._directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrainError(str(directory), f"cannot be created: {error.strerror}") from error

    @classmethod
    def asked(cls, arguments: argparse.Namespace, run: Path) -> Spool | None:
        """That of a run directory if ``--stream`` was given, else None; raises as the
        constructor."""
        return cls(run / "spool") if arguments.stream else None

    def keep(self, array: NDArray[Kind]) -> NDArray[Kind]:
        """The same values, read-only, from a file: the system loads and drops its pages as needed.

        Raises:
            TrainError: The file cannot be written.
        """
        if not array.size:
            return array
        try:
            with tempfile.TemporaryFile(dir=self._directory) as file:
                file.write(np.ascontiguousarray(array).data)
                file.flush()
                return np.asarray(np.memmap(file, array.dtype, "r", shape=array.shape))
        except OSError as error:
            raise TrainError(
                str(self._directory), f"cannot hold {array.nbytes} bytes: {error.strerror}"
            ) from error
