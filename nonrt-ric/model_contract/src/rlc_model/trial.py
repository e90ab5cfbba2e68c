"""Tries a model in a process of its own before it is run, within bounds of memory and CPU time.

A graph of some hundred kilobytes may compute intermediate tensors of gigabytes, at a step or
already when the runtime folds constants, and no bound of ONNX Runtime applies to them. Programs
that run models have a module that loads and steps them, the child process of :class:`ModelTrial`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from rlc_model.contract import MODEL, ModelContract
from rlc_model.errors import ContractError
from rlc_model.graph import check_graph
from rlc_model.manifest import parse_manifest

TRIAL_BEARERS: Final = 1_000
"""Rows of the step whose memory is bounded; that of intermediate tensors grows with the rows."""
MAX_TENSOR_BYTES: Final = 128 << 20
"""Memory of such a step, beside five times the file's size for weights in the runtime's layout."""
MAX_TRIAL_CPU_S: Final = 30
"""CPU time for loading and stepping the model, of which a busy machine needs no more."""
MAX_TRIAL_S: Final = 300.0
"""Time after which a process that gets no CPU time is given up: it says nothing about the model."""
_STARTED: Final = b"started\n"
"""What the process writes before it turns to the model."""
_REFUSED: Final = 3
"""Exit status of the process; those of the interpreter are 1 and 2."""
_FROM_OUTSIDE: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that a model does not cause: the kernel is short of memory, or somebody ends programs."""


class UnfinishedTrialError(Exception):
    """A trial without a verdict on the model; the next may have one."""


Stepped: TypeAlias = Callable[[ModelContract, int, int], None]
"""Loads a model for reports of a period, µs, and steps that many bearers; raises ContractError."""


class ModelTrial:
    """Trials of models, one at a time, which another thread may end."""

    def __init__(self, module: str) -> None:
        """`module` is run as the child process; it ends with what :func:`child` returns."""
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False

    def try_model(self, contract: ModelContract, period_us: int) -> None:
        """Tries a model for reports each `period_us`.

        Raises:
            ContractError: The graph is not allowed, the child process refuses the model, or it
                needs more memory or CPU time than the bounds.
            UnfinishedTrialError: The process did not start, got no CPU time or was killed.
        """
        check_graph(contract.onnx)
        try:
            self._run(contract, period_us)
        except UnfinishedTrialError as error:
            raise UnfinishedTrialError(f"the trial of the model has no result: {error}") from error

    def _run(self, contract: ModelContract, period_us: int) -> None:
        """Loads the model and steps it in a child process."""
        manifest = contract.manifest.to_json()
        with self._start(len(manifest), period_us) as process:
            try:
                out, err = process.communicate(manifest + contract.onnx, timeout=MAX_TRIAL_S)
            except subprocess.TimeoutExpired as error:
                raise UnfinishedTrialError(
                    f"its process does not end within {MAX_TRIAL_S:g} s"
                ) from error
            finally:
                process.kill()
        _judge(process.returncode, out, err)

    def end(self) -> None:
        """Kills the process of a trial that runs; further ones are unfinished at once."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def _start(self, manifest_bytes: int, period_us: int) -> subprocess.Popen[bytes]:
        numbers = (str(number) for number in (manifest_bytes, period_us, MAX_TRIAL_CPU_S))
        with self._lock:
            if self._ended:
                raise UnfinishedTrialError("the program stops")
            try:
                self._process = subprocess.Popen(  # noqa: S603 - a module of ours
                    [sys.executable, "-m", self._module, *numbers],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            except OSError as error:
                raise UnfinishedTrialError(f"its process does not start: {error}") from error
            return self._process


def _judge(status: int, out: bytes, err: bytes) -> None:
    """Raises what the end of the process says; nothing if the model passed."""
    if status == 0:
        return
    if status == _REFUSED:
        refused = json.loads(out.removeprefix(_STARTED))
        raise ContractError(refused["place"], refused["problem"])
    last = (err.decode("utf-8", "replace").strip().splitlines() or [""])[-1][:200]
    if not out.startswith(_STARTED) or -status in _FROM_OUTSIDE:
        raise UnfinishedTrialError(f"its process ends early (status {status}): {last}")
    if -status == signal.SIGXCPU:
        raise ContractError(
            MODEL, f"needs more than {MAX_TRIAL_CPU_S} s of CPU time to load and to try"
        )
    raise ContractError(
        MODEL,
        f"ends the process that tries it (status {status}); expected at most"
        f" {MAX_TENSOR_BYTES >> 20} MiB of tensors for {TRIAL_BEARERS} bearers: {last}",
    )


def child(arguments: Sequence[str], stepped: Stepped) -> int:
    """Tries the model of a :class:`ModelTrial`, which gave these arguments; returns the status."""
    manifest_bytes, period_us, cpu_s = map(int, arguments)
    data = sys.stdin.buffer.read()
    # If memory runs out all the same, the kernel ends this process and not the forecaster.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with contextlib.suppress(OSError):
        os.nice(5)
    _bound_cpu(cpu_s)
    _bound_memory(MAX_TENSOR_BYTES + 5 * len(data))
    sys.stdout.buffer.write(_STARTED)
    sys.stdout.buffer.flush()
    try:
        contract = ModelContract(parse_manifest(data[:manifest_bytes]), data[manifest_bytes:])
        stepped(contract, period_us, TRIAL_BEARERS)
    except ContractError as error:
        problem = str(error).removeprefix(f"{error.place}: ")
        sys.stdout.write(json.dumps({"place": error.place, "problem": problem}))
        return _REFUSED
    return 0


def _bound_cpu(further_s: int) -> None:
    """Bound CPU time to what was used until now and `further_s`, where no lower bound is set."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = math.ceil(time.process_time()) + further_s
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def _bound_memory(further_bytes: int) -> None:
    """Bound private writable memory to what is in use now and `further_bytes`, on Linux."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[5])
    except (OSError, ValueError, IndexError):
        return
    limit = pages * resource.getpagesize() + further_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
