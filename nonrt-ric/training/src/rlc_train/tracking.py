"""Publishes a run and its promoted model to MLflow: beside the run directory, or to a server.

May be repeated: it adds to the same MLflow run and registers a promoted model once. The run
directory has everything, so nothing is lost if the server is unavailable.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ric.claim import AlreadyClaimed, Claim

from rlc_train.errors import TrainError, need
from rlc_train.rundir import RunDirectory

NAME: Final = "publish"
EXPERIMENT: Final = "sojourn-rlc"
TIMEOUT_S: Final = "10"
RETRIES: Final = "1"
SQLITE: Final = "sqlite:///"
WAIT_S: Final = 120.0
"""Time for another publication to the same file to end; one takes seconds."""
MLFLOW_RUN: Final = "mlflow.json"
"""File in the run directory with the MLflow run, so that a second publication adds to it."""


class RegistryError(TrainError):
    """The registry is unreachable or refuses the run."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published run.

    Attributes:
        run_id: Run in MLflow.
        version: Version of the registered model; None if no model was promoted.
    """

    run_id: str
    version: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--run", type=Path, required=True, help="directory of the experiment")
    parser.add_argument("--uri", help="MLflow server or database; default: RUN/../mlflow.db")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    done = publish(RunDirectory(arguments.run), arguments.uri)
    model = f", model version {done.version}" if done.version is not None else ", no model"
    print(f"{arguments.run}: MLflow run {done.run_id}{model}")
    return 0


def local_uri(root: Path) -> str:
    """URI of an SQLite database in a directory."""
    return f"{SQLITE}{(root / 'mlflow.db').resolve()}"


def publish(directory: RunDirectory, uri: str | None = None) -> Published:
    """Logs settings, metrics, files and the promoted model of a run directory.

    Args:
        directory: The run.
        uri: Tracking server or database; None for one beside the run directory.

    Raises:
        RegistryError: The server does not answer, or refuses, or another process has the database.
        TrainError: MLflow is not installed, or the run directory is incomplete.
    """
    settings, data = directory.settings(), directory.read("data.json")
    mlflow = need("mlflow", "mlflow")
    root = directory.path.parent
    where = uri or local_uri(root)
    # MLflow reads both for each request.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", TIMEOUT_S)
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", RETRIES)
    with _registry_errors(where, directory), _alone(where):
        client = mlflow.MlflowClient(tracking_uri=where, registry_uri=where)
        artifacts = None if uri else (root / "mlartifacts").resolve().as_uri()
        experiment = client.get_experiment_by_name(EXPERIMENT)
        number = (
            experiment.experiment_id
            if experiment is not None
            else client.create_experiment(EXPERIMENT, artifact_location=artifacts)
        )
        run_id = _run(client, number, directory, where)
        for name, value in _flat(settings.model_dump(mode="json")).items():
            client.log_param(run_id, name, value)
        client.set_tag(run_id, "data_sha256", data["sha256"])
        _log_curve(client, run_id, directory)
        _log_metrics(client, run_id, directory)
        for name in ("settings.json", "data.json", "evaluation.json", "verdict.json"):
            if (directory.path / name).exists():
                client.log_artifact(run_id, str(directory.path / name))
        if (directory.path / "report").exists():
            client.log_artifacts(run_id, str(directory.path / "report"), "report")
        version = _register(client, run_id, directory, settings.name)
        client.set_terminated(run_id)
    return Published(run_id, version)


def _alone(uri: str) -> AbstractContextManager[Any]:
    """The exclusive use of a database in a file: two that make its tables at once fail."""
    path = uri.removeprefix(SQLITE)
    if path in (uri, "", ":memory:"):
        return nullcontext()
    return Claim.of(Path(path), wait_s=WAIT_S)


def _run(client: Any, experiment: str, directory: RunDirectory, where: str) -> str:
    """The MLflow run of this directory: the previous one, or a new one."""
    path = directory.path / MLFLOW_RUN
    if path.exists():
        previous = directory.read(MLFLOW_RUN)
        if previous.get("uri") == where:
            run_id: str = previous["run_id"]
            client.get_run(run_id)
            return run_id
    run = client.create_run(experiment, run_name=directory.path.name)
    made: str = run.info.run_id
    directory.write(MLFLOW_RUN, {"uri": where, "run_id": made})
    return made


def _log_curve(client: Any, run_id: str, directory: RunDirectory) -> None:
    if not (directory.path / "curve.json").exists():
        return
    for epoch, (loss, validation) in enumerate(directory.read("curve.json")["curve"]):
        client.log_metric(run_id, "loss", loss, step=epoch)
        client.log_metric(run_id, "validation_loss", validation, step=epoch)


def _log_metrics(client: Any, run_id: str, directory: RunDirectory) -> None:
    if not (directory.path / "evaluation.json").exists():
        return
    for split, by_name in directory.read("evaluation.json").items():
        for name, numbers in by_name.items():
            if "@" in name or "skill" not in numbers:
                continue
            # MLflow's names have no plus sign.
            forecaster = name.replace("+", "-")
            for quantity, values in enumerate(numbers["skill"]):
                known = [v for v in values if v == v]  # noqa: PLR0124  NaN
                if known:
                    client.log_metric(
                        run_id, f"{split}.{forecaster}.skill.{quantity}", sum(known) / len(known)
                    )


def _register(client: Any, run_id: str, directory: RunDirectory, name: str) -> str | None:
    """Registers the promoted model once; returns its version."""
    model = directory.path / "model"
    if not model.exists():
        return None
    client.log_artifacts(run_id, str(model), "model")
    mine = [v for v in client.search_model_versions(f"name = '{name}'") if v.run_id == run_id]
    if mine:
        return str(mine[0].version)
    if not list(client.search_registered_models(f"name = '{name}'")):
        client.create_registered_model(name)
    source = f"{client.get_run(run_id).info.artifact_uri}/model"
    return str(client.create_model_version(name, source, run_id).version)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = str(value)
    return found


@contextmanager
def _registry_errors(uri: str, directory: RunDirectory) -> Iterator[None]:
    """Maps exceptions of MLflow to :class:`RegistryError`."""
    exceptions = need("mlflow.exceptions", "mlflow")
    requests = need("requests", "mlflow")
    database = need("sqlalchemy.exc", "mlflow")
    refusals = (exceptions.MlflowException, requests.RequestException, database.SQLAlchemyError)
    try:
        yield
    except (*refusals, AlreadyClaimed, OSError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise RegistryError(
            uri,
            f"does not accept the run: {first}. {directory.path} has the run; repeat rlc-train"
            " publish later",
        ) from error
