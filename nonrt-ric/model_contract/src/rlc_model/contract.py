"""Reading, checking and writing a model directory."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from rlc_model.errors import ContractError
from rlc_model.files import replace_directory
from rlc_model.manifest import Manifest, parse_manifest

MODEL: Final = "model.onnx"
MANIFEST: Final = "manifest.json"
CHECKSUMS: Final = "SHA256SUMS"
SIGNATURE: Final = "SHA256SUMS.sig"
"""Optional; see :mod:`rlc_model.signature`."""
NAMES: Final = (MODEL, MANIFEST, SIGNATURE, CHECKSUMS)
"""Files of a model directory."""
SCALE: Final = "scale"
"""The graph's optional output."""

MAX_MODEL_BYTES: Final = 64 * 2**20
"""Far above the size of any step that runs within a millisecond."""
MAX_MANIFEST_BYTES: Final = 2**20
_READS: Final = 10
"""Times that a directory is read again if it is replaced meanwhile."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Name, element type and shape of a graph's input or output; None is a free dimension."""

    name: str
    element_type: str
    shape: tuple[int | None, ...]

    @classmethod
    def of(cls, argument: Any) -> Self:
        """That of an `onnxruntime.NodeArg`."""
        shape = tuple(size if isinstance(size, int) else None for size in argument.shape)
        return cls(argument.name, argument.type, shape)


@dataclass(frozen=True, slots=True)
class ModelContract:
    """A model directory with verified digests and manifest.

    Attributes:
        manifest: Its manifest.
        onnx: The graph.
        checksums: Content of its digests; empty for a model that was not read from a directory.
    """

    manifest: Manifest
    onnx: bytes
    checksums: bytes = field(default=b"", compare=False, repr=False)

    def inputs(self) -> tuple[Tensor, ...]:
        """The graph's inputs: sample ``(B, F)``, state ``(B, S)``, both scaled float32."""
        return (
            Tensor("sample", "tensor(float)", (None, len(self.manifest.features))),
            Tensor("state", "tensor(float)", (None, self.manifest.state_size)),
        )

    def outputs(self, *, scaled: bool = False) -> tuple[Tensor, ...]:
        """The graph's outputs: forecast ``(B, quantity, point, quantile)`` and next state.

        Args:
            scaled: With the optional output ``(B, quantity, point)`` scale. The caller multiplies
                the forecasts by it in the same pass as by the units.
        """
        m = self.manifest
        shape = (None, len(m.quantities), len(m.horizon.points_us), len(m.quantiles))
        forecast = Tensor("forecast", "tensor(float)", shape)
        after = Tensor("next_state", "tensor(float)", (None, m.state_size))
        scale = Tensor(SCALE, "tensor(float)", shape[:-1])
        return (forecast, scale, after) if scaled else (forecast, after)

    def check_signature(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        """Compares the graph's inputs and outputs with the manifest.

        Raises:
            ContractError: Naming the tensor, what it is and what it should be.
        """
        for kind, found, expected in (
            ("input", inputs, self.inputs()),
            ("output", outputs, self.outputs(scaled=any(t.name == SCALE for t in outputs))),
        ):
            names = [t.name for t in found]
            if sorted(names) != sorted(t.name for t in expected):
                wanted = ", ".join(t.name for t in expected)
                raise ContractError(MODEL, f"has {kind}s {', '.join(names)}; expected {wanted}")
            by_name = {t.name: t for t in found}
            for tensor in expected:
                got = by_name[tensor.name]
                if got.element_type != tensor.element_type or got.shape != tensor.shape:
                    raise ContractError(
                        f"{MODEL}: {kind} {tensor.name}",
                        f"is {got.element_type} {got.shape}; expected"
                        f" {tensor.element_type} {tensor.shape} (None is the batch)",
                    )


def read_bounded(path: Path, limit: int) -> bytes:
    """The content of a regular file; the limit holds while reading.

    Raises:
        ContractError: The file is missing, larger or not regular.
    """
    try:
        # Without O_NONBLOCK opening a FIFO waits for a writer.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise ContractError(str(path), "is no regular file; expected one")
            content = bytearray()
            while chunk := os.read(number, min(limit + 1 - len(content), 1 << 20)):
                content += chunk
        finally:
            os.close(number)
    except OSError as error:
        raise ContractError(str(path), error.strerror or "cannot be read") from error
    if len(content) > limit:
        raise ContractError(path.name, f"has more than {limit} bytes; expected at most that")
    return bytes(content)


def _parse_checksums(data: bytes) -> dict[str, str]:
    sums: dict[str, str] = {}
    for number, line in enumerate(data.decode("ascii", "replace").splitlines(), 1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64:
            raise ContractError(f"{CHECKSUMS}:{number}", "expected '<sha256>  <file>'")
        sums[name] = digest
    return sums


def read_contract(directory: Path, checksums: bytes | None = None) -> ModelContract:
    """Reads a model directory and checks digests and manifest.

    A directory that is replaced meanwhile is read again, so that no mixture of two is refused.

    Args:
        directory: The directory.
        checksums: The content that its digests must have, such as one whose signature was verified.

    Raises:
        ContractError: A file is missing, too large, altered or wrong.
    """
    for _ in range(_READS):
        before = _identity(directory)
        try:
            return _read_once(directory, checksums)
        except ContractError:
            if _identity(directory) == before:
                raise
    return _read_once(directory, checksums)


def _identity(directory: Path) -> tuple[int, ...] | None:
    """What differs between a folder and the one that replaces it; None if there is none."""
    try:
        found = directory.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _read_once(directory: Path, checksums: bytes | None) -> ModelContract:
    if directory.is_dir() and not (directory / CHECKSUMS).exists():
        expected = f"expected a model directory of {MODEL}, {MANIFEST} and {CHECKSUMS}"
        raise ContractError(CHECKSUMS, f"is missing; {expected}")
    if checksums is None:
        checksums = read_bounded(directory / CHECKSUMS, MAX_MANIFEST_BYTES)
    sums = _parse_checksums(checksums)
    files = {
        MANIFEST: read_bounded(directory / MANIFEST, MAX_MANIFEST_BYTES),
        MODEL: read_bounded(directory / MODEL, MAX_MODEL_BYTES),
    }
    for name, data in files.items():
        if name not in sums:
            raise ContractError(CHECKSUMS, f"has no digest of {name}")
        digest = hashlib.sha256(data).hexdigest()
        if digest != sums[name]:
            raise ContractError(
                name, f"has SHA-256 {digest[:12]}…; {CHECKSUMS} has {sums[name][:12]}…"
            )
    return ModelContract(parse_manifest(files[MANIFEST]), files[MODEL], checksums)


def write_contract(
    directory: Path,
    manifest: Manifest,
    onnx: bytes,
    signer: Callable[[bytes], bytes] | None = None,
) -> None:
    """Replaces a model directory; a reader, and a kill at any time, finds the old one or the new.

    Files of other names are kept, a signature is not. `signer` makes that of the new digests; see
    :func:`rlc_model.signature.read_signer`. Raises `OSError`, see
    :func:`rlc_model.files.replace_directory`.
    """
    files = {MODEL: onnx, MANIFEST: manifest.to_json()}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    if signer is not None:
        files[SIGNATURE] = signer(sums.encode())
    replace_directory(directory, files | {CHECKSUMS: sums.encode()}, NAMES)
