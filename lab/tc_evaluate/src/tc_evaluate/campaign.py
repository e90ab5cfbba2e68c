"""All runs of an evaluation: made side by side, kept as they end, taken up again."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError
from ric.files import UnreadableFile, read_file

from tc_evaluate.errors import EvaluationError
from tc_evaluate.run import Result, Task, execute

_MAX_BYTES: Final = 256 << 20
"""A result takes some 300 bytes."""
_RESULT: Final = TypeAdapter(Result)


def read_results(path: Path) -> list[Result]:
    """The results in a file, one JSON object a line.

    Raises:
        EvaluationError: the file cannot be read, or a line is no result; the message names it.
    """
    try:
        lines = read_file(path, _MAX_BYTES).split(b"\n")
    except UnreadableFile as error:
        raise EvaluationError(str(error)) from error
    results = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            results.append(_RESULT.validate_json(line, strict=True))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = "".join(f" {part}:" for part in first["loc"])
            raise EvaluationError(
                f"{path}: line {number}:{place} {first['msg']}; expected a result"
            ) from error
    return results


def run_all(
    tasks: Sequence[Task],
    *,
    jobs: int,
    file: Path | None,
    done: Callable[[Result], None],
) -> list[Result]:
    """The result of each task, in no order.

    Args:
        jobs: runs at a time, each a process.
        file: where each result is appended as it comes; results in it are not run again.
        done: called with each result.

    Raises:
        EvaluationError: a run or the file cannot be used. What ended before is in the file.
    """
    found = read_results(file) if file is not None and file.exists() else []
    known = {result.key: result for result in found}
    results = [known[task.key] for task in tasks if task.key in known]
    for result in results:
        done(result)
    for result in _executed([task for task in tasks if task.key not in known], jobs):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(result.as_dict()) + "\n")
        results.append(result)
        done(result)
    return results


def _executed(tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(execute, tasks)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield from _in_order_of_end(pool, tasks)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_order_of_end(pool: ProcessPoolExecutor, tasks: Iterable[Task]) -> Iterator[Result]:
    for future in as_completed([pool.submit(execute, task) for task in tasks]):
        yield future.result()
