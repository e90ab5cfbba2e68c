"""Collects, looks for drift, trains, judges and promotes, as one command that can be resumed.

A round records reports into the data set, judges the served model on what is new, trains if it has
drifted, and promotes the new model if it passes the gate and is not worse than the served one on
the newest data. A killed round continues where it was. Exit status 0 if a model was promoted or
none is needed, 1 if the new one was refused.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Final

from ric import logs
from ric.errors import RicError
from ric.flags import folder_to_write
from ric.settings import LogSettings, add_settings_arguments, settings_from
from rlc_model.signature import read_signer

from rlc_train.collect.command import CollectSettings, producer
from rlc_train.collect.session import RecordingOptions
from rlc_train.errors import TrainError
from rlc_train.progress import CONSOLE
from rlc_train.retrain.round import Options, Round, partitions
from rlc_train.retrain.stages import HELD_OUT, STAGE_FUNCTIONS
from rlc_train.retrain.state import STAGES, WorkDirectory
from rlc_train.settings import add_experiment_arguments
from rlc_train.settings import load as load_settings

NAME: Final = "retrain"
SEGMENT_S: Final = 60.0
STALL_S: Final = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_experiment_arguments(parser)
    parser.add_argument(
        "--model",
        type=folder_to_write,
        required=True,
        help="model directory that the forecaster reads",
    )
    parser.add_argument(
        "--work",
        type=folder_to_write,
        required=True,
        help="directory of the rounds, to continue from",
    )
    parser.add_argument(
        "--collect-s",
        type=float,
        default=0.0,
        help="record so many seconds first; 0: --data grows by other means (default: 0)",
    )
    parser.add_argument(
        "--held-out-s",
        type=float,
        default=0.0,
        help=f"record so many seconds as cell {HELD_OUT}, for split.held_out_cells (default: 0)",
    )
    parser.add_argument("--node", default="", help="node to record (default: the first)")
    parser.add_argument("--held-out-node", default="", help="node of --held-out-s (--node)")
    parser.add_argument("--always", action="store_true", help="train without drift as well")
    parser.add_argument(
        "--sign-key", type=Path, metavar="FILE", help="Ed25519 private key, PEM, to sign it with"
    )
    parser.add_argument("--uri", default="", help="MLflow server or database to publish to")
    add_settings_arguments(parser, CollectSettings)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    logs.configure(LogSettings(level="warning"))
    try:
        gateway = settings_from(CollectSettings, arguments).gateway
    except RicError as error:
        raise TrainError(str(error)) from error
    if arguments.sign_key is not None:
        # A wrong key fails before an hour of training.
        read_signer(arguments.sign_key)
    options = Options(
        data=arguments.data,
        model=arguments.model,
        settings=load_settings(arguments.settings, arguments.preset),
        arguments=arguments,
        recordings=_recordings(arguments),
        gateway=gateway,
        always=arguments.always,
        sign_key=arguments.sign_key,
        registry=arguments.uri,
    )
    work = WorkDirectory(arguments.work)
    state = work.begin(tuple(partitions(arguments.data)))
    if state.stage != STAGES[0]:
        CONSOLE.print(f"round {state.number} continues with {state.stage}", highlight=False)

    def say(line: str) -> None:
        CONSOLE.print(line, highlight=False, soft_wrap=True)

    result = Round(work, state, options, say, STAGE_FUNCTIONS).finish()
    print(f"{work.folder(state)}: {result}")
    return 1 if result == "refused" else 0


def _recordings(arguments: argparse.Namespace) -> list[RecordingOptions]:
    found = []
    wanted = (
        ("collect_s", "", arguments.node),
        ("held_out_s", HELD_OUT, arguments.held_out_node or arguments.node),
    )
    for name, cell, node in wanted:
        value = getattr(arguments, name)
        if not (math.isfinite(value) and value >= 0):
            flag = name.replace("_", "-")
            raise TrainError(f"--{flag}: {value:g}; expected a number, 0 or more")
        if value > 0:
            found.append(
                RecordingOptions(
                    root=arguments.data,
                    cell=cell,
                    mobility="unknown",
                    node_id=node,
                    duration_s=value,
                    segment_s=SEGMENT_S,
                    stall_s=STALL_S,
                    producer=producer(),
                )
            )
    return found
