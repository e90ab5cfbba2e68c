"""The recorded radios of users' folders, and parts of them as channels of the lab."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from rlc_dataset import DatasetError, TraceOrigin
from rlc_dataset.channels import (
    ChannelTrace,
    RateColumns,
    load_rates,
    load_trace,
    mahimahi_text,
)

from rlc_train.errors import TrainError

_PAPERS: Final = re.compile(r"(?i)\.(md|rst|html?|pdf)$|^(readme|licen[cs]e|copying)(\.|$)")
"""Files that come with recordings and are none."""
_NO_PART: Final = re.compile(r"(\.(xz|gz))?$")
_WINDOWS: Final = 4
"""Windows that are drawn, of which the one with most measured steps is used."""


@dataclass(frozen=True, slots=True)
class Radio:
    """A recorded radio.

    Attributes:
        name: Path below its folder without ``.csv``, ``.xz`` and ``.gz``, unique in a plan.
        path: The file.
        sha256: SHA-256 of the file as it is on disk.
        trace: What it has.
    """

    name: str
    path: Path
    sha256: str
    trace: ChannelTrace

    def window(self, duration_s: float, rng: random.Random) -> tuple[int, ChannelTrace]:
        """First step of a part of one session, and the part, which is repeated if it is shorter.

        That of a Mahimahi trace ends with an opportunity, the first one after the duration at the
        latest.

        Raises:
            DatasetError: Nothing was measured.
        """
        trace = self.trace
        measured = _measured(trace)
        if not measured.any():
            raise _nothing(self.path)
        steps = max(1, round(duration_s * 1e6 / trace.period_us))
        sessions = np.bincount(trace.session, weights=measured)
        (session,) = rng.choices(range(len(sessions)), weights=sessions.tolist())
        rows = np.flatnonzero(trace.session == session)
        low, high = int(rows[0]), max(int(rows[0]), int(rows[-1]) + 1 - steps)
        first = max(
            (rng.randint(low, high) for _ in range(_WINDOWS)),
            key=lambda row: int(measured[row : row + steps].sum()),
        )
        if not measured[first : first + steps].any():
            known = np.flatnonzero(measured & (trace.session == session))
            first = int(known[np.argmin(np.abs(known - first))])
        last = min(first + steps, int(rows[-1]) + 1)
        if trace.source == "mahimahi":
            # A trace repeats after its last opportunity: an outage at the end of the part, without
            # the opportunity after it, would be cut off.
            last += int(np.argmax(measured[last - 1 :]))
        return first, trace.window(first, last)

    def origin(self, first_step: int) -> TraceOrigin:
        """What a run notes of a part."""
        return TraceOrigin(radio=self.name, sha256=self.sha256, first_step=first_step)


def channel(part: ChannelTrace, file: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The element `channel` of a scenario that plays a part of a trace, and the files it names.

    `file` is the name of the file of a Mahimahi trace; other traces are in the element itself.
    """
    if part.source == "mahimahi":
        return {"mahimahi": {"path": file}}, {file: mahimahi_text(part)}
    return part.lab_channel(), {}


def find_radios(
    folders: Sequence[Path],
    pattern: str = "*",
    columns: RateColumns | None = None,
    on_skipped: Callable[[DatasetError], None] = lambda _: None,
) -> list[Radio]:
    """All recorded radios of some folders, in order of their names.

    Every file below a folder is one, except hidden ones, READMEs, licences and documents. A file
    that is no trace, or has nothing to replay, is skipped.

    Args:
        folders: The folders.
        pattern: Names of the files that are read.
        columns: Of tables of times and rates; None for the formats that `load_trace` knows.
        on_skipped: Called with why a file is skipped, with its line.

    Raises:
        TrainError: A folder has no trace, or two files have one name.
    """
    load = load_trace if columns is None else partial(load_rates, columns=columns)
    found: dict[str, Radio] = {}
    for folder in folders:
        paths = [path for path in _files(folder) if path.match(pattern)]
        if not paths:
            named = "" if pattern == "*" else f" named {pattern}"
            raise TrainError(f"--traces {folder}", f"has no file{named}; expected recorded radios")
        last: DatasetError | None = None
        there = len(found)
        for path in paths:
            name = _NO_PART.sub("", path.relative_to(folder).as_posix()).removesuffix(".csv")
            if name in found:
                raise TrainError(
                    f"--traces {folder}",
                    f"{path} and {found[name].path} are both named {name}; expected one of them",
                )
            try:
                trace = load(path)
                if not _measured(trace).any():
                    raise _nothing(path)
            except DatasetError as error:
                last = error
                on_skipped(error)
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[name] = Radio(name, path, digest, trace)
        if len(found) == there:
            raise TrainError(
                f"--traces {folder}", f"has no trace in {len(paths)} files; the last: {last}"
            )
    return [found[name] for name in sorted(found)]


def _nothing(path: Path) -> DatasetError:
    return DatasetError("has no measured step to replay", file=str(path))


def _files(folder: Path) -> list[Path]:
    def is_trace(path: Path) -> bool:
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in parts)
        return path.is_file() and not hidden and not _PAPERS.search(path.name)

    try:
        return sorted(path for path in folder.rglob("*") if is_trace(path))
    except OSError as error:
        raise TrainError(f"--traces {folder}", error.strerror or "cannot be read") from error


def _measured(trace: ChannelTrace) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The steps by which the lab's channel is known, of Mahimahi those with an opportunity."""
    if trace.source == "mahimahi":
        return np.asarray(trace.quantities["capacity_bytes"] > 0)
    values = next(trace.quantities[n] for n in ("mcs", "cqi", "rate_bps") if n in trace.quantities)
    return np.asarray(~np.isnan(values))
