"""Runs of a sweep on the workers of a Dask cluster, which need no shared disk.

Each order goes to a worker with the files of its scenario, the run is made there, and its files
come back.
"""

from __future__ import annotations

import importlib
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from gnb_lab.results import SweepError
from gnb_lab.sweeps.order import Input, Order

TIMEOUT_S: Final = 10
"""Time for the scheduler to answer, and for its first worker to come."""
RETRIES: Final = 2
"""Further attempts of a run that failed on a worker, perhaps on another one."""
AHEAD: Final = 2
"""Runs handed out per thread of the workers: none waits, and few results are in memory."""

Progress = Callable[[int, int], None]
"""Called with the number of finished runs and of all that were missing."""


def make_runs(orders: Sequence[Order], address: str, on_progress: Progress) -> None:
    """Has runs made and writes each into its folder, as a whole or not at all.

    Args:
        orders: Orders of the runs that are missing.
        address: Address of the Dask scheduler, ``tcp://host:8786``.
        on_progress: Called after each run.

    Raises:
        SweepError: No cluster answers, a worker cannot make a run, or an interrupt from the
            keyboard. What is finished is in its folder.
    """
    if not orders:
        return
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        message = "--dask: dask and distributed are not installed; expected gnb-lab[dask]"
        raise SweepError(message, is_input=True) from error
    with _client(distributed, address) as client:
        _Sweep(distributed, client, orders, on_progress).run()


def _client(distributed: Any, address: str) -> Any:
    try:
        client = distributed.Client(address, timeout=TIMEOUT_S)
    except (OSError, ValueError) as error:
        message = f"--dask: no scheduler answers at {address}: {error}"
        raise SweepError(message, is_input=True) from error
    try:
        client.wait_for_workers(1, timeout=TIMEOUT_S)
    except TimeoutError as error:
        client.close()
        message = f"--dask: the scheduler at {address} has no workers; expected at least one"
        raise SweepError(message, is_input=True) from error
    return client


class _Sweep:
    """The runs that are made and those that wait."""

    def __init__(
        self, distributed: Any, client: Any, orders: Sequence[Order], on_progress: Progress
    ) -> None:
        self._client = client
        self._orders = iter(orders)
        self._total = len(orders)
        self._on_progress = on_progress
        self._completed = distributed.as_completed()
        #: Folder of each run in the cluster.
        self._folders: dict[Any, Path] = {}
        #: Input files in the cluster, by name.
        self._inputs: dict[str, Any] = {}

    def run(self) -> None:
        finished = 0
        try:
            self._submit()
            for future in self._completed:
                folder = self._folders.pop(future)
                error = future.exception() if future.status == "error" else None
                if future.status != "finished":
                    raise SweepError(
                        f"{folder.name}: {_reason(future.status, error)}; the same command resumes"
                    )
                if (files := future.result()) is not None:
                    _store(folder, files)
                finished += 1
                self._on_progress(finished, self._total)
                self._submit()
        except KeyboardInterrupt as error:
            message = f"interrupted with {finished} of {self._total} missing runs finished; "
            raise SweepError(message + "the same command resumes") from error
        except OSError as error:
            message = f"--dask: the scheduler was lost: {error}; the same command resumes"
            raise SweepError(message) from error
        finally:
            # A lost scheduler has nothing left to cancel.
            with suppress(OSError):
                self._client.cancel(list(self._folders))

    def _submit(self) -> None:
        """Hands out runs until every thread of the workers has enough."""
        most = AHEAD * max(1, sum(self._client.nthreads().values()))
        while len(self._folders) < most and (order := next(self._orders, None)) is not None:
            inputs = {each.name: self._input(each) for each in order.inputs}
            arguments = (order.line(), list(inputs), list(inputs.values()))
            future = self._client.submit(make_run, *arguments, pure=False, retries=RETRIES)
            self._folders[future] = order.folder
            self._completed.add(future)

    def _input(self, wanted: Input) -> Any:
        name, source = wanted.name, Path(wanted.source)
        if name not in self._inputs:
            try:
                content = source.read_bytes()
            except OSError as error:
                raise SweepError(f"{source}: cannot be read: {error.strerror}") from error
            self._inputs[name] = self._client.scatter(content, broadcast=True)
        return self._inputs[name]


def _reason(status: str, error: BaseException | None) -> str:
    if error is None:
        return f"{status} by the cluster"
    if isinstance(error, ModuleNotFoundError):
        return f"a worker has {str(error)[0].lower()}{str(error)[1:]}; expected gnb-lab[dask] there"
    return str(error).partition("\n")[0] or type(error).__name__


def make_run(line: str, names: Sequence[str], contents: Sequence[bytes]) -> dict[str, bytes] | None:
    """Makes a run on a worker.

    Args:
        line: An order as JSON.
        names: Names of the files that its scenario reads.
        contents: Contents of these files.

    Returns:
        The files of its folder by name; None if the scenario cannot be run, which
        `gnb-lab sweep` tells in its table.

    Raises:
        SweepError: This machine cannot make the run.
    """
    with tempfile.TemporaryDirectory(prefix="gnb-lab-") as folder:
        inputs, out = Path(folder, "inputs"), Path(folder, "run")
        inputs.mkdir()
        for name, content in zip(names, contents, strict=True):
            (inputs / name).write_bytes(content)
        try:
            Order.parse(line).make(inputs, out, lambda: False)
        except (SweepError, OSError) as error:
            if isinstance(error, SweepError) and error.is_input:
                return None
            raise SweepError(f"worker on {platform.node()}: {error}") from error
        return {file.name: file.read_bytes() for file in sorted(out.iterdir())}


def _store(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes the folder of a run beside its place and moves it there."""
    part = folder.with_name(f"{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for name, content in files.items():
            (part / Path(name).name).write_bytes(content)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    except OSError as error:
        raise SweepError(f"{folder}: cannot be written: {error.strerror}") from error
