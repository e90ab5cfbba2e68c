"""Stopped searches continue; chiefs and workers end at their deadlines."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from made_corpus import corpus, layout
from rlc_train.cli import main
from rlc_train.errors import TrainError, installed
from rlc_train.lstm.shape import FitSettings, NetworkShape
from rlc_train.settings import load as load_settings
from rlc_train.splits import split
from rlc_train.tuning import cluster, search, space
from rlc_train.tuning.local import Workers

if installed("keras_tuner"):
    from keras_tuner.src import protos
    from keras_tuner.src.engine.trial import Trial

pytestmark = [
    pytest.mark.usefixtures("keras"),
    # Warnings of KerasTuner.
    pytest.mark.filterwarnings("ignore:currentThread:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:getName:DeprecationWarning"),
]

AXES = layout(points=2)
FIT = FitSettings(
    lanes=4, steps=16, piece_samples=256, warm_up_samples=16, samples_per_epoch=128, xla=False
)

SETTINGS = """
quantities: [occupancy_bytes]
horizon: {t_m_us: 20}
fit:
  {lanes: 4, steps: 16, piece_samples: 256, warm_up_samples: 16, samples_per_epoch: 128, xla: false}
"""


def task(directory: Path) -> search.Task:
    parts = split(corpus(600), AXES)
    return search.Task(parts.train, parts.validation, AXES, FIT, 2, 3, "", directory)


def free_address() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


class Clock:
    """Set by the test, so that a slow machine is not a silent worker."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_an_interrupted_search_continues_with_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    plain: Callable[..., float] = search.run_trial
    ran: list[str] = []

    def killed_at_second(own: search.Task, runner: Any, trial: Any) -> float:
        ran.append(str(trial.trial_id))
        if len(ran) == 2:
            raise KilledError
        return plain(own, runner, trial)

    monkeypatch.setattr(search, "run_trial", killed_at_second)
    with pytest.raises(KilledError):
        search.search(task(tmp_path))
    found = search.search(task(tmp_path))
    assert found is not None
    # Only the interrupted trial runs again.
    assert ran.count(ran[0]) == 1
    assert ran.count(ran[1]) == 2
    assert found.trials == len(set(ran))
    assert 0 < found.changes["fit.learning_rate"] < 0.1


def test_a_chief_without_workers_ends_at_its_deadline(tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=r"no worker was active for 0\.5 s; 0 trials are complete"):
        cluster.chief(task(tmp_path), free_address(), 0.5, print)


def test_a_worker_without_chief_ends_at_its_deadline(tmp_path: Path) -> None:
    with pytest.raises(TrainError, match="did not answer: DEADLINE_EXCEEDED"):
        cluster.worker(task(tmp_path), free_address(), "w1", 0.5)


class Worker:
    """KerasTuner's protocol without training."""

    def __init__(self, address: str, name: str) -> None:
        self._name = name
        self._service = protos.get_service()
        self._stub = protos.get_service_grpc().OracleStub(grpc.insecure_channel(address))

    def take(self) -> Any:
        request = self._service.CreateTrialRequest(tuner_id=self._name)
        answer = self._stub.CreateTrial(request, wait_for_ready=True, timeout=30)
        return Trial.from_proto(answer.trial)

    def finish(self, trial: Any, loss: float) -> None:
        metrics = {search.OBJECTIVE: loss}
        update = self._service.UpdateTrialRequest(trial_id=trial.trial_id, metrics=metrics, step=0)
        self._stub.UpdateTrial(update, timeout=30)
        trial.status = "COMPLETED"
        self._stub.EndTrial(self._service.EndTrialRequest(trial=trial.to_proto()), timeout=30)


def test_trials_of_a_lost_worker_are_reassigned(tmp_path: Path) -> None:
    address, lines, clock = free_address(), list[str](), Clock()
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(cluster.chief, task(tmp_path), address, 3.0, lines.append, clock)
        lost = Worker(address, "lost").take()
        good, done = Worker(address, "good"), list[str]()
        clock.now_s = 2.0
        held = good.take()
        # Past the deadline of the silent worker only.
        clock.now_s = 4.0
        good.finish(held, 1.0)
        done.append(held.trial_id)
        while (trial := good.take()).status != "STOPPED":
            if trial.status == "RUNNING":
                good.finish(trial, 1.0 / (1 + len(done)))
                done.append(trial.trial_id)
            else:
                time.sleep(0.05)
        found = result.result(30)
    assert lines == [f"trials {lost.trial_id} lost with their workers"]
    assert lost.trial_id in done
    assert found.trials == len(set(done)) == len(done)
    assert found.validation_loss == 1.0 / len(done)


def test_a_restarted_chief_continues_the_search(tmp_path: Path) -> None:
    address, clock = free_address(), Clock()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cluster.chief, task(tmp_path), address, 60.0, print, clock)
        worker = Worker(address, "dies")
        done = worker.take()
        worker.finish(done, 0.5)
        clock.now_s = 61.0
        with pytest.raises(TrainError, match="1 trials are complete"):
            first.result(30)
    again = search.oracle(2, 3)
    search.tuner(task(tmp_path), again)
    assert again.trials[done.trial_id].score == 0.5


def test_the_trial_of_a_worker_that_failed_is_reassigned_at_once(tmp_path: Path) -> None:
    address, failed, shown = free_address(), list[str](), list[tuple[int, int]]()
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(
            cluster.chief,
            task(tmp_path),
            address,
            3_600.0,
            print,
            Clock(),
            failed=lambda: failed,
            on_progress=lambda done, total: shown.append((done, total)),
        )
        lost = Worker(address, "lost").take()
        failed.append("lost")
        good, done = Worker(address, "good"), list[str]()
        while (trial := good.take()).status != "STOPPED":
            if trial.status == "RUNNING":
                good.finish(trial, 1.0)
                done.append(trial.trial_id)
            else:
                time.sleep(0.05)
        found = result.result(30)
    assert lost.trial_id in done
    assert found.trials == len(done)
    # The bar ends when all trials are done.
    assert shown[-1] == (len(done), len(done))


def test_workers_of_one_machine_search_together(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    words = ["tune", "--data", str(dataset), "--settings", str(tmp_path / "settings.yaml")]
    words += ["--run", str(tmp_path / "run"), "--max-epochs", "2", "--workers", "2", "--stream"]
    assert main(words) == 0
    assert "best of" in capsys.readouterr().out
    assert len(list((tmp_path / "run" / "workers").glob("*.log"))) == 2
    assert (tmp_path / "run" / "spool").is_dir()
    # Each trial was trained by one of them.
    trials = {path.parent.name for path in (tmp_path / "run" / "trials").glob("*/checkpoint.npz")}
    assert len(trials) >= 2


def test_workers_that_cannot_start_end_the_search_with_their_reason(tmp_path: Path) -> None:
    match = r"local-0\.log: no worker is left: .*required"
    with (
        Workers(["tune", "--nonsense"], 1, tmp_path) as workers,
        pytest.raises(TrainError, match=match),
    ):
        cluster.chief(task(tmp_path), workers.address, 3_600.0, print, failed=workers.failed)


@pytest.mark.parametrize("address", ["nowhere", "host:0", ":9070", "host:http"])
def test_an_invalid_address_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(TrainError, match="expected HOST:PORT"):
        cluster.chief(task(tmp_path), address, 1.0, print)


def test_a_space_of_a_file_is_searched_and_its_best_values_are_settings(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.yaml").write_text(SETTINGS + "network: user_models:keras_layer\n")
    (tmp_path / "space.yaml").write_text(
        "network.parameters.units: {choice: [3, 4]}\n"
        "fit.learning_rate: {float: [0.001, 0.01], sampling: log}\n"
    )
    words = ["tune", "--data", str(dataset), "--settings", str(tmp_path / "settings.yaml")]
    words += ["--space", str(tmp_path / "space.yaml"), "--run", str(tmp_path / "run")]
    # Trials of three epochs continue ones of one.
    assert main([*words, "--max-epochs", "3"]) == 0
    assert "network.parameters.units" in capsys.readouterr().out
    best = load_settings(tmp_path / "run" / "best.yaml")
    assert best.network.build == "user_models:keras_layer"
    assert best.network.parameters["units"] in (3, 4)
    assert 0.001 <= best.fit.learning_rate <= 0.01


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("network.units: {choice: []}", "network.units.choice: List should have at least 1 item"),
        ("network.units: {int: [1, 2], choice: [3]}", "network.units: has 2 of choice, int and"),
        ("fit.epochs: {int: [5, 2]}", r"fit.epochs: \[5, 2\]; expected a lower and a higher"),
        ("seed: {int: [1, 2]}", "String should match pattern"),
        ("network.width: {int: [1, 2]}", "--space: network.width: Extra inputs are not permitted"),
        ("network.units: {int: [0, 2]}", "--space: network.units: Input should be greater"),
        ("[1]", "Input should be a valid dictionary"),
    ],
)
def test_a_space_that_is_wrong_names_its_entry(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "space.yaml").write_text(text)
    with pytest.raises(TrainError, match=message):
        found = space.read(tmp_path / "space.yaml")
        space.changed_settings(NetworkShape(), FIT, space.first_of(found))


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """KerasTuner reads its role from the environment; each test has its own."""
    for name in ("IP", "PORT"):
        monkeypatch.delenv(f"KERASTUNER_ORACLE_{name}", raising=False)
    monkeypatch.delenv("KERASTUNER_TUNER_ID", raising=False)
