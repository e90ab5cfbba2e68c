"""Chief and workers: KerasTuner's protocol over several machines, with deadlines.

KerasTuner's chief waits forever for dead workers, and its workers wait an hour for a dead chief.
Here a trial of a silent worker is reassigned, and a chief without workers ends; when restarted, it
continues.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any

import grpc
from ric.endpoint_settings import is_local

from rlc_train.errors import TrainError, need
from rlc_train.lstm.backend import choose
from rlc_train.tuning.search import Found, Task, best, completed, oracle, trials_of, tuner

POLL_S = 0.2

Log = Callable[[str], None]
Clock = Callable[[], float]


def _host_port(address: str) -> tuple[str, str]:
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise TrainError("--address", f"{address!r}; expected HOST:PORT")
    return host, port


def check_address(address: str, *, insecure: bool) -> None:
    """Refuses an address beyond this machine unless `insecure`: KerasTuner's protocol is plain text
    without access control, and who reaches the chief decides the search.

    Raises:
        TrainError: It is refused, or is no HOST:PORT.
    """
    _host_port(address)
    if not insecure and not is_local(address):
        raise TrainError(
            "--address",
            f"{address} is beyond this machine, in plain text without access control; expected a"
            " loopback address, or --insecure in a network of chief and workers alone",
        )


def _environment(address: str, tuner_id: str) -> None:
    """Sets the environment variables of KerasTuner's role in a cluster."""
    host, port = _host_port(address)
    os.environ["KERASTUNER_ORACLE_IP"] = host
    os.environ["KERASTUNER_ORACLE_PORT"] = port
    os.environ["KERASTUNER_TUNER_ID"] = tuner_id


def chief(
    task: Task,
    address: str,
    deadline_s: float,
    log: Log,
    clock: Clock = time.monotonic,
    *,
    failed: Callable[[], Sequence[str]] = list,
    on_progress: Callable[[int, int], None] | None = None,
) -> Found:
    """Assigns trials to workers until the search is done.

    Args:
        task: The search; its data is not used here.
        address: HOST:PORT to listen on in plain text; see :func:`check_address`.
        deadline_s: Silence after which a worker is lost, or the search ends without any worker.
        log: Called with a line for lost workers.
        clock: Monotonic clock, s.
        failed: Names of workers known to have ended; their trials are reassigned at once.
        on_progress: Called with trials done and trials of the whole search.

    Raises:
        TrainError: The address cannot be listened on, or all workers were silent for the deadline.
    """
    _environment(address, "chief")
    decider = oracle(task.max_epochs, task.seed, task.space)
    # Sets the project's directory and loads a stopped search.
    runner = tuner(task, decider)
    runner.save()
    # Workers of an earlier chief have stopped.
    _requeue(decider, list(decider.ongoing_trials.values()))
    servicer = _Servicer(decider, clock)
    protos = need("keras_tuner.src.protos", choose()).get_service_grpc()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    protos.add_OracleServicer_to_server(servicer, server)
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError as error:
        raise TrainError("--address", f"{address} cannot be listened on") from error
    if not bound:
        raise TrainError("--address", f"{address} cannot be listened on")
    server.start()

    def report() -> None:
        if on_progress is not None:
            done = completed(decider)
            on_progress(done, max(trials_of(decider), done))

    try:
        while not (servicer.stopped and not decider.ongoing_trials):
            time.sleep(POLL_S)
            now = clock()
            lost = [
                trial
                for trial in list(decider.ongoing_trials.values())
                if now
                - servicer.last_request_by_trial_s.get(trial.trial_id, servicer.last_request_s)
                > deadline_s
            ]
            gone = [decider.ongoing_trials.get(name) for name in failed()]
            lost += [trial for trial in gone if trial is not None and trial not in lost]
            report()
            if lost:
                log(f"trials {', '.join(t.trial_id for t in lost)} lost with their workers")
                for trial in lost:
                    # Its next worker is silent from its assignment on, not since the lost one was.
                    servicer.last_request_by_trial_s.pop(trial.trial_id, None)
                _requeue(decider, lost)
            if now - servicer.last_request_s > deadline_s:
                done = completed(decider)
                runner.save()
                raise TrainError(
                    "tune",
                    f"no worker was active for {deadline_s:g} s; {done} trials are complete;"
                    " restart chief and workers to continue",
                )
        report()
        # Time for workers to learn that the search is over.
        time.sleep(min(2.0, deadline_s))
    finally:
        server.stop(grace=None)
        runner.save()
    found = best(decider, task.space)
    if found is None:
        raise TrainError("tune", "no trial was completed")
    return found


def worker(task: Task, address: str, name: str, deadline_s: float) -> None:
    """Runs trials until the chief has no more.

    Raises:
        TrainError: The chief did not answer within the deadline.
    """
    if "chief" in name:
        raise TrainError(
            "--worker", f"{name!r} contains 'chief', which KerasTuner reserves for the chief"
        )
    _environment(address, name)
    client = need("keras_tuner.src.distribute.oracle_client", choose())
    client.TIMEOUT = deadline_s
    try:
        tuner(task, oracle(task.max_epochs, task.seed, task.space)).search()
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
    """KerasTuner's service with the times of the last requests."""

    def __init__(self, decider: Any, clock: Clock) -> None:
        inside = need("keras_tuner.src.distribute.oracle_chief", choose())
        self._service = inside.OracleServicer(decider)
        self.last_request_by_trial_s: dict[str, float] = {}
        self._clock = clock
        self.last_request_s = clock()

    @property
    def stopped(self) -> bool:
        """Whether the search has no more trials."""
        return bool(self._service.stop_triggered)

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self._service, name)

        def timed(request: Any, context: Any) -> Any:
            now = self._clock()
            self.last_request_s = now
            trial = getattr(request, "trial_id", "") or getattr(
                getattr(request, "trial", None), "trial_id", ""
            )
            if trial:
                self.last_request_by_trial_s[trial] = now
            response = answer(request, context)
            assigned = getattr(getattr(response, "trial", None), "trial_id", "")
            if assigned:
                self.last_request_by_trial_s[assigned] = self._clock()
            return response

        return timed
