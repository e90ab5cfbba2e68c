"""Tries a model in a process of its own before it is served, within bounds of memory and time.

A graph of some hundred kilobytes may compute intermediate tensors of gigabytes, at a step or
already when the runtime folds constants, and no bound of ONNX Runtime applies to them.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

from rlc_model import ContractError, ModelContract
from rlc_model.contract import MODEL
from rlc_model.manifest import parse_manifest

from rlc_forecaster.onnx_step import OnnxStep

TRIAL_BEARERS: Final = 1_000
"""Rows of the step whose memory is bounded; that of intermediate tensors grows with the rows."""
MAX_TENSOR_BYTES: Final = 128 << 20
"""For such a step, beside five times the size of the file for weights in the runtime's layout."""
MAX_TRIAL_S: Final = 30.0
"""Of the process; its start and the runtime take one of them."""
_REFUSED: Final = 3
"""Exit status of the process; those of the interpreter are 1 and 2."""


def run_trial(contract: ModelContract, period_us: int) -> None:
    """Loads the model and steps it in a child process.

    Raises:
        ContractError: As :class:`~rlc_forecaster.onnx_step.OnnxStep`, or the model needs more
            memory or time than the bounds.
    """
    manifest = contract.manifest.to_json()
    try:
        done = subprocess.run(  # noqa: S603 - this module
            [sys.executable, "-m", __name__, str(len(manifest)), str(period_us)],
            input=manifest + contract.onnx,
            capture_output=True,
            timeout=MAX_TRIAL_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ContractError(MODEL, f"is not tried within {MAX_TRIAL_S:g} s") from error
    except OSError as error:
        raise ContractError(MODEL, f"cannot be tried: {error}") from error
    if done.returncode == 0:
        return
    if done.returncode == _REFUSED:
        refused = json.loads(done.stdout)
        raise ContractError(refused["place"], refused["problem"])
    last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1][:200]
    raise ContractError(
        MODEL,
        f"ends the process that tries it (status {done.returncode}); expected at most"
        f" {MAX_TENSOR_BYTES >> 20} MiB of tensors for {TRIAL_BEARERS} bearers: {last}",
    )


def _main(manifest_bytes: int, period_us: int) -> int:
    data = sys.stdin.buffer.read()
    # If memory runs out all the same, the kernel ends this process and not the forecaster.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with contextlib.suppress(OSError):
        os.nice(5)
    _bound_memory(MAX_TENSOR_BYTES + 5 * len(data))
    try:
        contract = ModelContract(parse_manifest(data[:manifest_bytes]), data[manifest_bytes:])
        OnnxStep(contract, period_us).step_once(TRIAL_BEARERS)
    except ContractError as error:
        problem = str(error).removeprefix(f"{error.place}: ")
        sys.stdout.write(json.dumps({"place": error.place, "problem": problem}))
        return _REFUSED
    return 0


def _bound_memory(further_bytes: int) -> None:
    """Bound private writable memory to what is in use now and `further_bytes`, on Linux."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[5])
    except (OSError, ValueError, IndexError):
        return
    limit = pages * resource.getpagesize() + further_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(_main(int(sys.argv[1]), int(sys.argv[2])))
