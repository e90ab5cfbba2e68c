"""The models that a model directory had before: ``DIR.history/0001``, ``0002``, …

Beside the directory, not in it: the forecaster reads the directory alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ric.claim import AlreadyClaimed, Claim
from rlc_model import ContractError, Manifest, ModelContract, read_contract, write_contract
from rlc_model.contract import CHECKSUMS, NAMES
from rlc_model.files import remove_directory, replace_directory, restore_directory

from rlc_train.errors import TrainError

KEPT: Final = 10
"""Models that are kept: at one a week, those of ten weeks."""
WAIT_S: Final = 60.0
"""Time for another process to finish with the directory; it needs less than a second."""


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
        TrainError: A file cannot be read or written, or another process writes it.
    """
    with _alone(directory):
        _keep(directory, ModelContract(manifest, onnx))
        write_contract(directory, manifest, onnx, signer)


def replace(
    directory: Path,
    manifest: Manifest,
    onnx: bytes,
    signer: Callable[[bytes], bytes] | None = None,
) -> None:
    """Writes a model as :func:`rlc_model.write_contract`; the one before is gone.

    Raises:
        TrainError: A file cannot be written, or another process writes it.
    """
    with _alone(directory):
        write_contract(directory, manifest, onnx, signer)


def roll_back(directory: Path) -> Path:
    """Puts the newest entry back; what it replaces is kept in ``DIR.history/undone``.

    Returns:
        The entry, which is no more.

    Raises:
        ContractError: The entry is damaged.
        TrainError: There is no entry, a file cannot be written, or another process writes it.
    """
    with _alone(directory):
        earlier = entries(directory)
        if not earlier:
            raise TrainError(str(directory), f"has no earlier model in {_folder(directory)}")
        newest = earlier[-1]
        read_contract(newest)
        if _digests(directory) not in (None, _digests(newest)):
            _copy(directory, _folder(directory) / "undone")
        _copy(newest, directory)
        remove_directory(newest)
    return newest


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Holds the directory, and maps errors of files."""
    try:
        with Claim.of(directory, wait_s=WAIT_S):
            restore_directory(directory)
            yield
    except AlreadyClaimed as error:
        raise TrainError(str(error)) from error
    except OSError as error:
        raise TrainError(str(directory), error.strerror or "cannot be written") from error


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
        remove_directory(old)


def _copy(source: Path, target: Path) -> None:
    """Replaces a model directory by a copy of another, with its signature or without one."""
    files = {name: source / name for name in NAMES}
    replace_directory(
        target, {name: path.read_bytes() for name, path in files.items() if path.exists()}, NAMES
    )
