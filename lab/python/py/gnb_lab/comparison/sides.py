"""Sides of a comparison and their measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from gnb_lab.comparison.estimate import Estimate, difference
from gnb_lab.measures import SCOPES, SUMMARY_FILE, RecordedRun, Subject, read_run
from gnb_lab.results import SweepError
from gnb_lab.sweeps.axis import canonical, label
from gnb_lab.sweeps.identity import SWEEP_FILE, read_description


@dataclass(frozen=True, slots=True)
class Side:
    """A recorded run, or runs of a sweep that differ in their seed alone.

    Attributes:
        label: Name in tables and legends.
        axes: Values of the axes by path, of a sweep.
        runs: At least one.
    """

    label: str
    axes: Mapping[str, Any]
    runs: tuple[RecordedRun, ...]

    def values(self, subject: Subject, measure: str) -> dict[int, float]:
        """Values of a measure by seed; empty without."""
        return {
            run.seed: values[measure]
            for run in self.runs
            if measure in (values := run.measures.get(subject, {}))
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of one side.

    Attributes:
        side: Whose.
        subject: What was measured: a flow, a bearer, or the run.
        measure: Name with unit.
        estimate: Mean over the seeds.
        difference: Difference to the first side, if that has the measure; None for the first
            itself.
    """

    side: Side
    subject: Subject
    measure: str
    estimate: Estimate
    difference: Estimate | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Recorded runs side by side.

    Attributes:
        sides: The first is the reference.
        rows: Rows by subject, by measure, by side.
        warnings: Combinations of which runs are missing.
    """

    sides: tuple[Side, ...]
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]

    @classmethod
    def read(cls, folders: Sequence[Path]) -> Comparison:
        """Reads folders of runs and sweeps. In a sweep, runs that differ in their seed alone are
        one side.

        Raises:
            SweepError: A folder is neither of a run nor of a sweep, or has damaged or no results.
        """
        sides: list[Side] = []
        warnings: list[str] = []
        for folder in folders:
            if (folder / SWEEP_FILE).is_file():
                sides += _sweep(folder, f"{folder}: " if len(folders) > 1 else "", warnings)
            elif (folder / SUMMARY_FILE).is_file():
                sides.append(Side(str(folder), {}, (read_run(folder),)))
            else:
                message = f"{folder}: has neither {SUMMARY_FILE} nor {SWEEP_FILE}"
                message += "; expected the folder of a run or a sweep"
                raise SweepError(message, is_input=True)
        if not sides:
            raise SweepError(f"{folders[0]}: has no finished run", is_input=True)
        return cls(tuple(sides), tuple(_rows(sides)), tuple(warnings))

    def by_subject(self) -> Iterator[tuple[Subject, list[Row]]]:
        """Rows of each subject, together."""
        for subject, rows in groupby(self.rows, lambda row: row.subject):
            yield subject, list(rows)


def _sweep(folder: Path, prefix: str, warnings: list[str]) -> Iterator[Side]:
    """A side per combination of values, in the order of the sweep."""
    description = read_description(folder)
    for _, same in groupby(description["runs"], lambda run: canonical(run["values"])):
        runs = list(same)
        axes = dict(zip(description["axes"], runs[0]["values"], strict=True))
        name = prefix + _label(axes) if axes else str(folder)
        folders = [folder / "runs" / run["folder"] for run in runs]
        there = [each for each in folders if (each / SUMMARY_FILE).is_file()]
        if lacking := len(runs) - len(there):
            warnings.append(f"{name}: {lacking} of {len(runs)} runs failed or are missing")
        if there:
            yield Side(name, axes, tuple(map(read_run, there)))


def _label(axes: Mapping[str, Any]) -> str:
    """The values of the axes, each by the last key of its path if that is unique."""
    last = [path.split(".")[-1] for path in axes]
    names = [key if last.count(key) == 1 else path for path, key in zip(axes, last, strict=True)]
    values = zip(names, axes.values(), strict=True)
    return ", ".join(f"{name}={label(value)}" for name, value in values)


def _rows(sides: Sequence[Side]) -> Iterator[Row]:
    # Subjects and measures of all sides, in order of first occurrence.
    order: dict[Subject, dict[str, None]] = {}
    for side in sides:
        for run in side.runs:
            for subject, values in run.measures.items():
                order.setdefault(subject, {}).update(dict.fromkeys(values))
    for subject in sorted(order, key=lambda subject: SCOPES.index(subject[0])):
        for measure in order[subject]:
            reference = sides[0].values(subject, measure)
            for side in sides:
                if found := side.values(subject, measure):
                    is_other = side is not sides[0] and bool(reference)
                    change = difference(found, reference) if is_other else None
                    yield Row(side, subject, measure, Estimate.of(list(found.values())), change)
