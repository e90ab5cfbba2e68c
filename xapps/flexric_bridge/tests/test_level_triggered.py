"""The library preloaded into FlexRIC's programs: a second message is not left unread."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "preload/level_triggered.c"
ONE_PER_EVENT = """
import json, select, socket, sys

ours, theirs = socket.socketpair(socket.AF_UNIX, getattr(socket, sys.argv[1]))
waiting = select.epoll()
waiting.register(ours, select.EPOLLIN | select.EPOLLET)
for message in (b"1", b"2", b"3"):
    theirs.send(message)
read = []
while waiting.poll(0.2):
    read.append(ours.recv(1).decode())
waiting.modify(ours, select.EPOLLIN | select.EPOLLET)
theirs.send(b"4")
while waiting.poll(0.2):
    read.append(ours.recv(1).decode())
print(json.dumps(read))
"""


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    assert compiler is not None
    library = tmp_path_factory.mktemp("preload") / "level_triggered.so"
    warnings = ("-std=gnu11", "-Wall", "-Wextra", "-Werror")
    command = [compiler, *warnings, "-fPIC", "-shared", str(SOURCE), "-ldl", "-o", str(library)]
    subprocess.run(command, check=True)
    return str(library)


def read_one_per_event(kind: str, preload: str) -> list[str]:
    """What a program reads that waits edge-triggered and reads one message for each event."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_PER_EVENT, kind],
        env={**os.environ, "LD_PRELOAD": preload},
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert not done.stderr
    read: list[str] = json.loads(done.stdout)
    return read


def test_messages_that_come_together_are_all_read(preload: str) -> None:
    assert read_one_per_event("SOCK_SEQPACKET", preload) == ["1", "2", "3", "4"]


def test_without_it_the_last_ones_stay_unread() -> None:
    # Without the library: one message is read per event, further ones stay.
    assert read_one_per_event("SOCK_SEQPACKET", "") == ["1", "2"]


def test_other_sockets_stay_edge_triggered(preload: str) -> None:
    assert read_one_per_event("SOCK_STREAM", preload) == read_one_per_event("SOCK_STREAM", "")
