"""The part of `gnb_lab` in Rust: an emulated gNB with UEs and traffic on virtual time."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar, final

import pyarrow as pa

_Answer = TypeVar("_Answer")
_Other = TypeVar("_Other")

__version__: str

RLC_OID: str
MAC_OID: str
KPM_OID: str
TC_V0_OID: str
TC_V1_OID: str

FORMATS: Sequence[str]
"""Formats of the tables of a run, in their order."""

class ScenarioError(ValueError):
    """A scenario that cannot be run: file, path in the file, and what was expected."""

class E2Error(ValueError):
    """No such RAN function, or it refuses the trigger, action or control."""

@final
class Indication:
    """A RIC indication."""

    @property
    def subscription(self) -> int: ...
    @property
    def ran_function_id(self) -> int: ...
    @property
    def ran_function_oid(self) -> str: ...
    @property
    def sequence(self) -> int:
        """Grows by one per indication of the subscription, from 0."""
    @property
    def header(self) -> bytes: ...
    @property
    def message(self) -> bytes:
        """In the service model's encoding; empty for KPM."""
    @property
    def kpm(self) -> dict[str, Any] | None:
        """KPM alone: `{"period_ms", "ues": [{"rnti", "values": {name: value}}], "unsupported"}`."""
    @property
    def collected_at_us(self) -> int:
        """When the report was taken, µs since the Unix epoch."""
    @property
    def received_at_us(self) -> int:
        """When it reached the RIC, µs since the Unix epoch."""

@final
class World:
    """A gNB with its UEs and servers on virtual time, in whole microseconds."""

    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any],
        *,
        overrides: Mapping[str, Any] | None = None,
        epoch_us: int | None = None,
    ) -> None:
        """A scenario as YAML text, as the path of a YAML file, or as its content.

        `overrides` replaces elements by their path, e.g. `{"cell.n_prb": 51}`. `epoch_us` is the
        Unix time of virtual time 0; fixed unless given, so that reports are reproducible.
        Raises `ScenarioError`.
        """

    @property
    def now_us(self) -> int:
        """Virtual time."""
    @property
    def epoch_us(self) -> int:
        """Unix time of virtual time 0."""
    @property
    def node_id(self) -> str: ...
    @property
    def ran_functions(self) -> dict[str, bytes]:
        """RAN function definition by OID; empty where the model has none."""

    def subscribe(
        self,
        ran_function_oid: str,
        period_ms: int | None = None,
        action_definition: bytes | None = None,
        *,
        event_trigger: bytes | None = None,
        action_definitions: Sequence[bytes] = (),
        kpm_measurements: Sequence[str] = (),
    ) -> int:
        """Starts a subscription: periodic, or with the service model's own `event_trigger`.

        Raises `E2Error` when there is no such RAN function or it refuses.
        """

    def unsubscribe(self, subscription: int) -> bool:
        """Ends a subscription; `False` when there is none."""

    def step_until(self, t_us: int) -> list[Indication]:
        """Runs until virtual time `t_us` and returns what reached the RIC, in order of time.

        Other Python threads run meanwhile.
        """

    def step_taking(
        self,
        t_us: int,
        step_us: int,
        ran_function_oid: str,
        take: Callable[[int, bytes], _Answer | None],
        others: Mapping[str, Callable[[int, int, bytes], _Other | None]] = ...,
    ) -> tuple[list[int], int | None, _Answer | _Other | None, list[Indication]]:
        """Runs until virtual time `t_us` in whole steps of `step_us`. Behind each step the reports
        that arrived in it are given away, in order: those of one RAN function to `take`, with time
        of collection and message; those of `others`, by OID, with the virtual time before these.

        Ends before `t_us` behind a step with a report that is answered with anything but `None`, or
        with an indication that nobody takes: of another RAN function, or without message.

        Returns the virtual times of the steps in which reports were answered with `None`; the last
        of them in which `take` was; the other answer, if there was one; and the indications that
        were not given away, in order, behind the one of that answer.

        Raises:
            ValueError: `step_us` is 0.
        """

    def control(self, ran_function_oid: str, header: bytes, message: bytes) -> bytes:
        """Sends a RIC control and waits for its RIC control outcome.

        Where the scenario has E2 delays, virtual time goes on until the answer is there;
        indications that arrive meanwhile come with the next `step_until`. A refusal of TC v1 is in
        the outcome; one of TC v0, which has no word for it, raises `E2Error`, as does a RAN
        function that is not there or takes no control.
        """

    def summary(self) -> dict[str, Any]:
        """Metrics from virtual time 0 until now: cell, bearers and flows."""

    def bearers(self) -> list[dict[str, Any]]:
        """The bearers as they are now: the columns of `bearers.parquet`."""

    def record(self, *, packets: bool = False) -> None:
        """Records a row per bearer and ms from now on, and with `packets` one per downlink packet.

        The rows are kept in memory: 150 bytes each.
        """

    def frame(self, table: Literal["bearers", "flows", "packets"] = "bearers") -> pa.Table:
        """What was recorded so far as a table, with the columns of the Parquet file of its name.

        `flows` needs no `record`: a world has the samples of its flows from virtual time 0 on.
        Raises `ValueError` for a table that is not recorded, `ModuleNotFoundError` without pyarrow
        (`gnb-lab[tables]`).
        """

    def packet_ledgers(self) -> list[dict[str, int]]:
        """Downlink packets of each bearer, attached or not, by where they are or how they ended.

        ``entered`` is the sum of the others, ``rnti`` and ``drb`` apart, unless the radio loses
        blocks.
        """

    def flows(self) -> list[dict[str, Any]]:
        """The flows as they are now: name, kind, direction, rnti, drb, goodput_bytes."""

    def rtt_samples_us(self, flow: str) -> list[tuple[int, int]]:
        """Round trips of a ping flow: virtual time measured, and how long, µs."""

    def unanswered_pings_us(self, flow: str) -> list[int]:
        """When the requests of a ping flow were sent that have no reply so far, µs."""

    def fork(self) -> World:
        """An independent copy that goes on from here."""

def block_error_rate(modulation_order: int, rate: float, bits: int, snr_db: float) -> float:
    """Probability that a transport block of ``bits`` fails in its first transmission over AWGN.

    ``modulation_order`` is 2, 4, 6, 8 or 10 bits per symbol, ``rate`` the information bits per
    coded bit, 0.01 to 0.99. The curves are those of sionna.sys (docs/radio.md).

    :raises ValueError: for another order or rate, or an SNR that is no number.
    """

def scenario_schema() -> dict[str, Any]:
    """JSON schema of a scenario."""

@final
class Scenario:
    """The content of a scenario file, of which a sweep replaces elements; not checked unless
    said."""

    def __init__(self, tree: Mapping[str, Any], file: str, folder: str | PathLike[str]) -> None:
        """Content, name in errors, and the folder that relative paths refer to."""

    @staticmethod
    def read(path: str | PathLike[str]) -> Scenario:
        """Reads a file. Raises `ScenarioError`."""

    @property
    def tree(self) -> dict[str, Any]:
        """The content, a copy."""
    @property
    def file(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    def replaced(self, changes: Sequence[tuple[str, Any]]) -> Scenario:
        """With elements replaced by path, in this order. Raises `ScenarioError` of `--set`."""

    def varied(self, changes: Sequence[tuple[str, Any]]) -> tuple[Scenario, int]:
        """The same, checked, and its seed. Raises `ScenarioError`, of `--over` where it is about an
        element replaced here."""

    def record(self, folder: str | PathLike[str], formats: Sequence[str], packets: bool) -> Run:
        """Begins a run whose files are written into a folder. Raises `ScenarioError`; `OSError` if
        the folder cannot be written; `ValueError` for a format that `FORMATS` lacks."""

@final
class Run:
    """A run that is recorded."""

    def step(self) -> bool:
        """Runs a second of virtual time, or to the end, where it closes the files. Returns whether
        there is more. Holds no lock meanwhile. Raises `OSError`."""

def parse_override(text: str) -> tuple[str, Any]:
    """Path and value of `PATH=VALUE`, the value as YAML. Raises `ScenarioError`."""

def write_table(
    folder: str | PathLike[str],
    name: str,
    columns: Sequence[tuple[str, Literal["int", "float", "text"], bool, Sequence[Any]]],
) -> None:
    """Writes `NAME.parquet`, `NAME.csv` and `NAME.json`. A column is its name, type, whether a row
    may lack it, and its values, None where a row lacks it. Raises `OSError`."""
