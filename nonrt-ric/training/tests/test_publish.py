"""Runs are published once; an unreachable registry loses nothing."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest
from made_model import SHAPE, zero_model
from rlc_model import read_contract, write_contract
from rlc_train.errors import need
from rlc_train.rundir import RunDirectory
from rlc_train.settings import Settings
from rlc_train.tracking import RegistryError, local_uri, publish

pytestmark = [
    pytest.mark.usefixtures("mlflow_extra"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs, which share a database: MLflow takes seconds to make one."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def run_directory(runs: Path, request: pytest.FixtureRequest) -> RunDirectory:
    """A run with a promoted model with zero weights, named after the test."""
    name = str(request.node.name)
    directory = RunDirectory(runs / name)
    settings = Settings(name=name, network=SHAPE)
    directory.begin(settings, {"sha256": "0" * 64, "t_m_us": 10.0})
    directory.write("curve.json", {"curve": [[1.0, 0.9], [0.8, 0.7]], "best_epoch": 1})
    directory.write("verdict.json", {"promoted": True})
    manifest, graph = zero_model(settings.name, settings.version)
    write_contract(directory.path / "model", manifest, graph)
    return directory


def test_a_run_is_published_once(run_directory: RunDirectory) -> None:
    first = publish(run_directory)
    again = publish(run_directory)
    assert first == again
    assert first.version == "1"
    mlflow = need("mlflow", "mlflow")
    uri = local_uri(run_directory.path.parent)
    client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)
    run = client.get_run(first.run_id)
    assert run.data.params["network.units"] == "4"
    assert run.data.metrics["validation_loss"] == 0.7
    version = client.get_model_version(run_directory.path.name, "1")
    stored = Path(version.source.removeprefix("file://"))
    assert read_contract(stored) == read_contract(run_directory.path / "model")


def test_an_unreachable_registry_loses_nothing(
    run_directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    before = {p.name: p.read_bytes() for p in run_directory.path.iterdir() if p.is_file()}
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{closed.getsockname()[1]}"
    kept = rf"does not accept the run: .*/{run_directory.path.name} has the run"
    with pytest.raises(RegistryError, match=kept):
        publish(run_directory, uri)
    assert before == {p.name: p.read_bytes() for p in run_directory.path.iterdir() if p.is_file()}
    assert publish(run_directory).version == "1"


def test_a_refused_model_is_not_registered(run_directory: RunDirectory) -> None:
    shutil.rmtree(run_directory.path / "model")
    done = publish(run_directory)
    assert done.version is None
    assert json.loads((run_directory.path / "mlflow.json").read_text())["run_id"] == done.run_id
