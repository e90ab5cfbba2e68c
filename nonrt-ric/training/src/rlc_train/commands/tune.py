"""Searches settings of network and training; writes settings for rlc-train train.

Without --space: layers, units, dropout and learning rate.

On one machine, with --workers N for N trials at once, or on several: --chief on one, --worker NAME
on the others, all with the same --data, --settings and --address. A stopped search continues when
restarted; a search without workers ends after --deadline-s. If the machines share the run
directory, a later trial continues from the checkpoint of the earlier one, else it starts at its
first epoch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml
from ric.flags import folder_to_write

from rlc_train import corpus, pipeline, spool
from rlc_train.errors import TrainError, write_text
from rlc_train.lstm import backend
from rlc_train.progress import bars
from rlc_train.settings import Settings, add_experiment_arguments
from rlc_train.settings import load as load_settings
from rlc_train.spool import Spool
from rlc_train.tuning import cluster
from rlc_train.tuning.local import Workers
from rlc_train.tuning.search import Found, Task, search
from rlc_train.tuning.space import DEFAULT_SPACE, changed_settings, first_of, merged
from rlc_train.tuning.space import read as read_space

NAME = "tune"
MOST_WORKERS = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_experiment_arguments(parser)
    parser.add_argument(
        "--run", type=folder_to_write, required=True, help="directory of the search"
    )
    parser.add_argument(
        "--space",
        type=Path,
        metavar="FILE",
        help="YAML with what is searched: settings by dotted name, as network.units:"
        " {choice: [16, 32]}, fit.learning_rate: {float: [0.001, 0.01], sampling: log}",
    )
    parser.add_argument("--max-epochs", type=int, default=9, help="epochs of the longest trial (9)")
    spool.add_argument(parser)
    backend.add_argument(parser)
    role = parser.add_mutually_exclusive_group()
    role.add_argument("--workers", type=int, help="trials at once on this machine (1)")
    role.add_argument("--chief", action="store_true", help="assign trials to workers")
    role.add_argument("--worker", metavar="NAME", help="run trials for a chief")
    parser.add_argument(
        "--address", default="127.0.0.1:9070", help="address of the chief, HOST:PORT"
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow an address beyond this machine: chief and workers speak plain text and know no"
        " access control, for a network of their own",
    )
    parser.add_argument(
        "--deadline-s",
        type=float,
        default=600.0,
        help="silence after which a worker, or the chief, is lost; longer than an epoch (600)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    if arguments.max_epochs < 2:
        raise TrainError("--max-epochs", f"{arguments.max_epochs}; expected 2 or more")
    if not 0 < arguments.deadline_s < float("inf"):
        raise TrainError("--deadline-s", f"{arguments.deadline_s}; expected more than 0")
    if arguments.workers is not None and not 1 <= arguments.workers <= MOST_WORKERS:
        raise TrainError("--workers", f"{arguments.workers}; expected 1 to {MOST_WORKERS}")
    if arguments.chief or arguments.worker is not None:
        cluster.check_address(arguments.address, insecure=arguments.insecure)
    settings = load_settings(arguments.settings, arguments.preset)
    space = DEFAULT_SPACE if arguments.space is None else read_space(arguments.space)
    # Before hours of search: the lowest values of all.
    changed_settings(settings.network, settings.fit, first_of(space))
    backend.choose(arguments.backend)
    files = Spool.asked(arguments, arguments.run)
    series, sha256 = corpus.load(arguments.data, settings.context_us, files)
    # T_m differs between trials by less than a grid step; all use the same labels.
    layout = settings.layout(pipeline.measured_t_m_us(settings))
    parts = pipeline.split_corpus(series, settings, layout)
    arguments.run.mkdir(parents=True, exist_ok=True)
    task = Task(
        parts.train,
        parts.validation,
        layout,
        settings.fit,
        arguments.max_epochs,
        settings.seed,
        sha256 + repr(settings.split),
        arguments.run,
        files,
        settings.network,
        space,
    )
    if arguments.worker is not None:
        cluster.worker(task, arguments.address, arguments.worker, arguments.deadline_s)
        return 0
    if arguments.chief:
        found: Found | None = _lead(task, arguments.address, arguments.deadline_s)
    elif arguments.workers is not None:
        words = _words(arguments)
        with Workers(words, arguments.workers, arguments.run / "workers") as workers:
            found = _lead(task, workers.address, arguments.deadline_s, workers.failed)
    else:
        found = search(task)
    if found is None:
        raise TrainError("tune", "no trial was completed")
    return _write(arguments.run, settings, found)


def _lead(
    task: Task, address: str, deadline_s: float, failed: Callable[[], Sequence[str]] = list
) -> Found:
    """Assigns trials; one progress bar for all workers."""
    with bars() as shown:
        return cluster.chief(
            task,
            address,
            deadline_s,
            shown.print,
            failed=failed,
            on_progress=lambda done, total: shown.tick("trials", done, total),
        )


def _words(arguments: argparse.Namespace) -> list[str]:
    """The same search for a worker."""
    given = {
        "--data": arguments.data,
        "--settings": arguments.settings,
        "--preset": arguments.preset,
        "--space": arguments.space,
        "--run": arguments.run,
        "--max-epochs": arguments.max_epochs,
        "--deadline-s": arguments.deadline_s,
        "--backend": arguments.backend,
    }
    pairs = ([name, str(value)] for name, value in given.items() if value is not None)
    flags = ["--stream"] if arguments.stream else []
    return [NAME, *(word for pair in pairs for word in pair), *flags]


def _write(directory: Path, settings: Settings, found: Found) -> int:
    document = merged(settings.model_dump(mode="json"), found.changes)
    path = directory / "best.yaml"
    write_text(path, yaml.safe_dump(document, sort_keys=False))
    changes = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in found.changes.items()
    )
    print(
        f"{path}: {changes}: validation loss {found.validation_loss:.4f}, best of {found.trials}"
        " trials"
    )
    return 0
