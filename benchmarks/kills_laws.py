"""What must hold while programs are killed and disks fill up: files, bearers, readiness."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import e2sm_tc
from ric import E2GatewayClient
from ric.errors import RicError
from ric.settings import GatewaySettings
from ric.sm import TC_V1_OID
from ric.state_file import read_document
from tc_controller.core.act.reconcile import DesiredStore
from tc_controller.decision_log import rotated

WATCH_MS: Final = 100


class BrokenError(AssertionError):
    """A law does not hold."""


@dataclass
class Bearers:
    """The state of the bearers' pipelines, as the gNB reports it now."""

    gateway: str
    #: Revision of the pipeline in force by RNTI.
    revisions: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    at_s: float = 0.0
    reports: int = 0
    #: Number of the gNB's process; revisions begin anew with each.
    life: int = 0
    #: A revision that went back.
    broken: str = ""

    def restarted(self) -> None:
        """The gNB is another process."""
        self.life += 1
        self.revisions.clear()
        self.names.clear()

    async def watch(self) -> None:
        """Reads reports until cancelled, through all restarts."""
        trigger = e2sm_tc.encode("event-trigger", {"periodic": {"period_ms": WATCH_MS}})
        action = {"style": "pipeline_status", "bearers": [], "top_flows": 1}
        actions = [e2sm_tc.encode("action-definition", action)]
        settings = GatewaySettings(address=self.gateway, backoff_max_s=0.5)
        while True:
            try:
                async with E2GatewayClient(settings) as client:
                    async with aclosing(client.watch_nodes()) as events:
                        node = (await anext(events)).node.id
                    stream = client.subscribe(node, TC_V1_OID, trigger, actions)
                    async with aclosing(stream) as indications:
                        life = self.life
                        async for indication in indications:
                            if life != self.life:
                                # The first report of another process, or the last of the old one.
                                break
                            self._take(e2sm_tc.decode("indication", indication.message))
            except RicError:
                await asyncio.sleep(0.2)

    def _take(self, message: dict[str, Any]) -> None:
        self.at_s = time.monotonic()
        self.reports += 1
        for status in message["pipeline_status"]:
            rnti, revision = status["bearer"]["ue"]["rnti"], status["revision"]
            before = self.revisions.get(rnti, 0)
            if revision < before:
                self.broken = f"RNTI {rnti}: revision {revision} after {before}"
            self.revisions[rnti], self.names[rnti] = revision, status["name"]

    def have(self, wanted: str, count: int) -> bool:
        """Whether all bearers had the wanted pipeline within the last second."""
        fresh = time.monotonic() - self.at_s < 1.0
        names = list(self.names.values())
        return fresh and len(names) == count and all(name == wanted for name in names)


class StateWatch:
    """The state file of a controller: whole at any moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reads = 0
        self._desired: dict[int, tuple[str, int]] = {}

    def check(self) -> None:
        """Raises `BrokenError`."""
        try:
            document = read_document(self.path)
            if document is None:
                return
            DesiredStore().load(document)
        except ValueError as error:
            raise BrokenError(f"{self.path.name}: {error}") from None
        self.reads += 1
        desired = document["desired"]
        self._desired = {each["rnti"]: (each["template"], each["revision"]) for each in desired}

    def has(self, base: str, revisions: Mapping[int, int]) -> bool:
        """Whether it holds what is in force, as its controller got it acknowledged."""
        return self._desired == {rnti: (base, revision) for rnti, revision in revisions.items()}


def lines_of(path: Path) -> Iterable[str]:
    """The lines of a log and of what it was rotated to, oldest first."""
    number = 0
    while rotated(path, number + 1).exists():
        number += 1
    for index in range(number, -1, -1):
        file = rotated(path, index)
        if file.exists():
            yield from file.read_text(encoding="utf-8", errors="replace").splitlines()


def check_lines(path: Path, most_torn: int) -> tuple[int, int]:
    """Lines that parse and lines that do not; raises `BrokenError` for more than `most_torn`.

    A process killed while it writes leaves half a line, and so does a full disk.
    """
    whole = torn = 0
    for line in lines_of(path):
        try:
            json.loads(line)
        except ValueError:
            torn += bool(line)
        else:
            whole += 1
    if torn > most_torn:
        raise BrokenError(f"{path.name}: {torn} lines that are no JSON, expected {most_torn}")
    return whole, torn


def check_decisions(log: Path, program_log: Path, is_excused: Callable[[float], bool]) -> int:
    """Check that every decision a controller logged is in its decision log, unless excused: the
    disk was full, or the program was killed within the second. Returns their number.
    """
    written: Counter[str] = Counter()
    for line in lines_of(log):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        written[f"{record.get('event')} {record.get('id')}"] += 1
    logged = 0
    for line in program_log.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record.get("event") not in ("decided", "adopted", "answered") or "id" not in record:
            continue
        logged += 1
        at_s = _unix_s(record["timestamp"])
        if not written[f"{record['event']} {record['id']}"] and not is_excused(at_s):
            raise BrokenError(f"{log.name} lacks {record}")
    return logged


def _unix_s(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()
