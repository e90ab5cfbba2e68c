"""``rlc-forecaster lockstep``: serves a model on standard input and output."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Final

import rlc_model
from ric.errors import RicError
from ric.flags import whole_number
from ric.settings import ProgramParser
from ric.terminal import complain
from rlc_model import ContractError, read_contract
from rlc_model.trial import UnfinishedTrialError
from sojourn_interfaces import forecast_pb2 as pb

import rlc_forecaster
from rlc_forecaster.lockstep.frames import FrameError, Kind, read_frame, write_frame
from rlc_forecaster.lockstep.session import REPORT_US, Session, step_time
from rlc_forecaster.model_trial import ModelTrial
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.selection import CODE_OF

NAME: Final = "lockstep"
PROTOCOL: Final = 2
"""Incremented when a change of the frames is incompatible."""
REFUSED: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns 2 for a refused or untried model or an invalid frame."""
    options = _parser().parse_args(arguments)
    with _claimed_stdout() as out:
        try:
            _serve(options, sys.stdin.buffer, out)
        except BrokenPipeError:
            # The simulator has exited.
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        except (ContractError, FrameError, RicError, UnfinishedTrialError) as error:
            write_frame(out, Kind.ERROR, json.dumps({"error": str(error)}).encode())
            complain(f"rlc-forecaster {NAME}", error)
            return REFUSED
        except KeyboardInterrupt:
            return 130
    return 0


def _serve(options: argparse.Namespace, incoming: BinaryIO, out: BinaryIO) -> None:
    contract = read_contract(options.model)
    model = ModelTrial().tried(contract, REPORT_US)
    write_frame(out, Kind.HELLO, json.dumps(hello(model, contract.checksums, options)).encode())
    session = Session(model)
    count = 0
    while True:
        frame = read_frame(incoming)
        if frame is None:
            return
        count += 1
        try:
            answer = session.answer(frame)
        except (ContractError, RicError) as error:
            raise FrameError(f"frame {count}, {frame.kind.name}: {error}") from error
        if answer is not None:
            write_frame(out, Kind.FORECASTS, answer)
            session.learn()


def hello(model: OnnxStep, checksums: bytes, options: argparse.Namespace) -> dict[str, object]:
    """The first frame: model, horizon and step time."""
    layout = model.layout
    return {
        "protocol": PROTOCOL,
        "model": model.name,
        "model_sha256": hashlib.sha256(checksums).hexdigest(),
        "program_sha256": program_sha256(),
        "points_us": list(layout.points_us),
        "quantiles": list(layout.quantiles),
        "quantities": [pb.Quantity.Name(CODE_OF[q]) for q in layout.quantities],
        "warm_up_steps": model.warm_up_steps,
        "t_m": [asdict(step_time(model, n, options.reports)) for n in options.measure],
    }


def program_sha256() -> str:
    """Digest of the code that determines forecasts, for caches of results."""
    digest = hashlib.sha256()
    for package in (rlc_forecaster, rlc_model):
        root = Path(package.__file__ or "").parent
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _claimed_stdout() -> BinaryIO:
    """Reserves standard output for frames; other output goes to standard error."""
    frames = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return frames


def _parser() -> argparse.ArgumentParser:
    parser = ProgramParser(
        prog=f"rlc-forecaster {NAME}",
        example=f"rlc-forecaster {NAME} --model out/run/model",
        description="Forecasts on standard input and output, without clock and gateway: E2"
        " indications in as frames, a ForecastBatch out after each RLC report. For simulators:"
        " `gnb-lab reproduce stolidis2024 --model DIR` starts it.",
    )
    parser.add_argument(
        "--model", type=Path, required=True, metavar="DIR", help="model directory of rlc-train"
    )
    parser.add_argument(
        "--measure",
        type=whole_number(1, 100_000),
        nargs="*",
        default=[1],
        metavar="BEARERS",
        help="measure T_m with so many bearers in a report; nothing: do not (default: 1)",
    )
    parser.add_argument(
        "--reports",
        type=whole_number(1, 100_000),
        default=400,
        metavar="N",
        help="reports whose median T_m is (default: %(default)s)",
    )
    return parser
