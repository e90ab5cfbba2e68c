"""Chief and workers: KerasTuner's own protocol over several machines, with deadlines.

KerasTuner's chief waits for ever when its workers die, and its workers wait an hour for a chief
that is gone. Here a trial whose worker is silent is given to another, and a chief without any
worker ends with what it has; started again, it goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc

from rlc_train.errors import TrainError, need
from rlc_train.tuning.search import Found, Task, best, oracle, tuner

LOOK_S = 0.2

Said = Callable[[str], None]
Clock = Callable[[], float]


def _place(address: str) -> tuple[str, str]:
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise TrainError("--address", f"{address!r}; expected HOST:PORT")
    return host, port


def _environment(address: str, tuner_id: str) -> None:
    """Where KerasTuner looks for its part in a cluster."""
    host, port = _place(address)
    os.environ["KERASTUNER_ORACLE_IP"] = host
    os.environ["KERASTUNER_ORACLE_PORT"] = port
    os.environ["KERASTUNER_TUNER_ID"] = tuner_id


def chief(
    task: Task, address: str, deadline_s: float, said: Said, clock: Clock = time.monotonic
) -> Found:
    """Hands out trials until the search is done.

    Args:
        task: Its data is not looked at: workers train.
        address: Where to listen, HOST:PORT; plain text, so a loopback or a network of one's own.
        deadline_s: Silence after which a worker is lost; and, without any worker, the search.
        said: Hears of lost workers.
        clock: Seconds that never go back, by which silence is measured.

    Raises:
        TrainError: The address cannot be listened on, or no worker spoke for the deadline.
    """
    _environment(address, "chief")
    decider = oracle(task.max_epochs, task.seed)
    # Sets the project's directory, and goes on with a search that was stopped.
    runner = tuner(task, decider)
    runner.save()
    # The workers of an earlier chief are gone with it.
    _requeue(decider, list(decider.ongoing_trials.values()))
    servicer = _Servicer(decider, clock)
    protos = need("keras_tuner.src.protos", "tensorflow").get_service_grpc()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    protos.add_OracleServicer_to_server(servicer, server)
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError as error:
        raise TrainError("--address", f"{address} cannot be listened on") from error
    if not bound:
        raise TrainError("--address", f"{address} cannot be listened on")
    server.start()
    try:
        while not (servicer.stopped and not decider.ongoing_trials):
            time.sleep(LOOK_S)
            now = clock()
            lost = [
                trial
                for trial in list(decider.ongoing_trials.values())
                if now - servicer.heard.get(trial.trial_id, servicer.heard_any) > deadline_s
            ]
            if lost:
                said(f"trials {', '.join(t.trial_id for t in lost)} lost with their workers")
                _requeue(decider, lost)
            if now - servicer.heard_any > deadline_s:
                done = sum(t.status == "COMPLETED" for t in decider.trials.values())
                runner.save()
                raise TrainError(
                    "tune",
                    f"no worker spoke for {deadline_s:g} s; {done} trials are done and kept: start"
                    " chief and workers again to go on",
                )
        # Those who still ask learn that it is over.
        time.sleep(min(2.0, deadline_s))
    finally:
        server.stop(grace=None)
        runner.save()
    found = best(decider)
    if found is None:
        raise TrainError("tune", "no trial was completed")
    return found


def worker(task: Task, address: str, name: str, deadline_s: float) -> None:
    """Runs trials until the chief has no more.

    Raises:
        TrainError: The chief was silent for the deadline.
    """
    if "chief" in name:
        raise TrainError("--worker", f"{name!r} holds 'chief', by which KerasTuner knows the chief")
    _environment(address, name)
    client = need("keras_tuner.src.distribute.oracle_client", "tensorflow")
    client.TIMEOUT = deadline_s
    try:
        tuner(task, oracle(task.max_epochs, task.seed)).search()
    except grpc.RpcError as error:
        raise TrainError(
            "tune", f"the chief at {address} did not answer: {_code(error)}"
        ) from error


def _code(error: grpc.RpcError) -> str:
    code = error.code() if isinstance(error, grpc.Call) else None
    return code.name if code is not None else type(error).__name__


def _requeue(decider: Any, trials: list[Any]) -> None:
    for trial in trials:
        trial.status = "INVALID"
        trial.message = "its worker was lost"
        decider.end_trial(trial)


class _Servicer:
    """KerasTuner's service, which remembers when it heard of whom."""

    def __init__(self, decider: Any, clock: Clock) -> None:
        inside = need("keras_tuner.src.distribute.oracle_chief", "tensorflow")
        self._service = inside.OracleServicer(decider)
        self.heard: dict[str, float] = {}
        self._clock = clock
        self.heard_any = clock()

    @property
    def stopped(self) -> bool:
        """Whether the search has no more trials."""
        return bool(self._service.stop_triggered)

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self._service, name)

        def hear(request: Any, context: Any) -> Any:
            now = self._clock()
            self.heard_any = now
            trial = getattr(request, "trial_id", "") or getattr(
                getattr(request, "trial", None), "trial_id", ""
            )
            if trial:
                self.heard[trial] = now
            response = answer(request, context)
            given = getattr(getattr(response, "trial", None), "trial_id", "")
            if given:
                self.heard[given] = self._clock()
            return response

        return hear
