"""The models that a model directory had before: ``DIR.history/0001``, ``0002``, …

Beside the directory, not in it: the forecaster reads the directory alone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rlc_model import ContractError, Manifest, ModelContract, read_contract, write_contract
from rlc_model.contract import CHECKSUMS, MANIFEST, MODEL, SIGNATURE, replace_file

from rlc_train.errors import TrainError

KEPT: Final = 10
"""Models that are kept: at one a week, those of ten weeks."""
_FILES: Final = (MODEL, MANIFEST, SIGNATURE, CHECKSUMS)
"""The digests last, so that a directory cut short by a crash is refused."""


def entries(directory: Path) -> list[Path]:
    """The earlier models, oldest first."""
    found = [path for path in _folder(directory).glob("[0-9]*") if path.name.isdecimal()]
    return sorted(found, key=lambda path: int(path.name))


def install(
    directory: Path,
    manifest: Manifest,
    onnx: bytes,
    signer: Callable[[bytes], bytes] | None = None,
) -> None:
    """Writes a model as :func:`rlc_model.write_contract`; the one before becomes an entry.

    Repeated after a kill, it adds no entry of the model itself and none twice.

    Raises:
        TrainError: A file cannot be read or written.
    """
    try:
        _keep(directory, ModelContract(manifest, onnx))
        if signer is None:
            # The signature of the model before is of other digests.
            (directory / SIGNATURE).unlink(missing_ok=True)
        write_contract(directory, manifest, onnx, signer)
    except OSError as error:
        raise TrainError(str(directory), error.strerror or "cannot be written") from error


def roll_back(directory: Path) -> Path:
    """Puts the newest entry back; what it replaces is kept in ``DIR.history/undone``.

    Returns:
        The entry, which is no more.

    Raises:
        ContractError: The entry is damaged.
        TrainError: There is no entry, or a file cannot be written.
    """
    earlier = entries(directory)
    if not earlier:
        raise TrainError(str(directory), f"has no earlier model in {_folder(directory)}")
    newest = earlier[-1]
    read_contract(newest)
    try:
        if _digests(directory) not in (None, _digests(newest)):
            _copy(directory, _folder(directory) / "undone")
        _copy(newest, directory)
        shutil.rmtree(newest)
    except OSError as error:
        raise TrainError(str(directory), error.strerror or "cannot be written") from error
    return newest


def _folder(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.history")


def _digests(directory: Path) -> bytes | None:
    try:
        return (directory / CHECKSUMS).read_bytes()
    except FileNotFoundError:
        return None


def _keep(directory: Path, new: ModelContract) -> None:
    """Makes the present model the newest entry, if it is one, is not that already and not `new`."""
    try:
        if read_contract(directory) == new:
            return
    except ContractError:
        return
    earlier = entries(directory)
    if earlier and _digests(earlier[-1]) == _digests(directory):
        return
    number = int(earlier[-1].name) + 1 if earlier else 1
    _copy(directory, _folder(directory) / f"{number:04}")
    for old in entries(directory)[:-KEPT]:
        shutil.rmtree(old)


def _copy(source: Path, target: Path) -> None:
    """Copies a model directory in the order of :func:`rlc_model.write_contract`, with its
    signature or without one."""
    target.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        if (source / name).exists():
            replace_file(target / name, (source / name).read_bytes())
        else:
            (target / name).unlink(missing_ok=True)
    os.utime(target / CHECKSUMS)
