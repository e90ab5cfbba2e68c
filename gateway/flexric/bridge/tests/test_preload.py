"""The libraries preloaded into FlexRIC's programs: SCTP over TCP, level-triggered sockets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).parent.parent / "preload"


def compiled(source: str, folder: Path) -> str:
    compiler = shutil.which("cc")
    assert compiler is not None
    library = folder / f"{source}.so"
    flags = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread")
    command = [compiler, *flags, str(SOURCES / f"{source}.c"), "-ldl", "-o", str(library)]
    subprocess.run(command, check=True)
    return str(library)


@pytest.fixture(scope="module")
def level_triggered(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled("level_triggered", tmp_path_factory.mktemp("preload"))


@pytest.fixture(scope="module")
def sctp_over_tcp(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled("sctp_over_tcp", tmp_path_factory.mktemp("preload"))


def output_of(preload: str, program: str, *arguments: str) -> Any:
    """The JSON that a program prints with this library preloaded."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "LD_PRELOAD": preload},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout)


def test_a_library_may_call_before_the_preloaded_one_is_initialised(
    sctp_over_tcp: str, tmp_path: Path
) -> None:
    """The constructor of a library that is preloaded behind it runs first: setpriv's libcap-ng
    closes a file in its own."""
    source = tmp_path / "early.c"
    source.write_text(
        "#include <unistd.h>\n"
        "__attribute__((constructor)) static void begin(void) { close(dup(2)); }\n"
    )
    early = tmp_path / "early.so"
    compiler = shutil.which("cc")
    assert compiler is not None
    command = [compiler, "-shared", "-fPIC", str(source), "-o", str(early)]
    subprocess.run(command, check=True)
    assert output_of(f"{sctp_over_tcp} {early}", "print(1)") == 1


# ---- SCTP over TCP for kernels without SCTP: sockets as FlexRIC uses them

LIBRARY = """
import ctypes, json, os, select, socket, struct, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)
SCTP, EVENTS, NOTIFICATION, EOR, TRUNC = 132, 11, 0x8000, 0x80, 0x20
COMM_UP, SHUTDOWN_COMP = 0, 3
ASSOC_CHANGE, SEND_FAILED, SHUTDOWN_EVENT = 0x8001, 0x8003, 0x8005

def address(port):
    family = struct.pack("=H", socket.AF_INET)
    return family + struct.pack("!H", port) + bytes([127, 0, 0, 1]) + bytes(8)

def endpoint(port=None, association=0, shutdown=0, failure=0):
    fd = libc.socket(socket.AF_INET, socket.SOCK_SEQPACKET, SCTP)
    assert fd >= 0
    events = bytes([1, association, 0, failure, 0, shutdown, 0, 0])
    assert libc.setsockopt(fd, SCTP, EVENTS, events, len(events)) == 0
    if port is not None:
        assert libc.bind(fd, address(port), 16) == 0, os.strerror(ctypes.get_errno())
        assert libc.listen(fd, 16) == 0
    return fd

def send(fd, to, message, ppid=0, stream=0):
    length = ctypes.c_size_t(len(message))
    return libc.sctp_sendmsg(fd, message, length, to, 16, ppid, 0, stream, 0, 0)

def receive(fd, room=1 << 18):
    into, peer = ctypes.create_string_buffer(room), ctypes.create_string_buffer(16)
    length, flags = ctypes.c_int(16), ctypes.c_int(0)
    info = ctypes.create_string_buffer(64)
    got = libc.sctp_recvmsg(
        fd, into, ctypes.c_size_t(room), peer, ctypes.byref(length), info, ctypes.byref(flags)
    )
    stream, _, _, _ = struct.unpack_from("=HHHH", info.raw)
    (ppid,) = struct.unpack_from("=I", info.raw, 8)
    return into.raw[:got], peer.raw, flags.value, stream, ppid

def readable(fd, timeout_s=10.0):
    # FlexRIC waits for one event at a time.
    waiting = libc.epoll_create1(0)
    event = struct.pack("=IQ", select.EPOLLIN, fd)
    assert libc.epoll_ctl(waiting, 1, fd, event) == 0
    out = ctypes.create_string_buffer(12)
    count = libc.epoll_wait(waiting, out, 1, int(timeout_s * 1000))
    os.close(waiting)
    return count == 1

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

PORT = free_port()
def show(**facts):
    print(json.dumps(facts))
"""


def test_messages_keep_their_boundaries_order_and_sender(sctp_over_tcp: str) -> None:
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
server, clients = endpoint(PORT), [endpoint() for _ in range(3)]
sizes = [1, 7, 32 * 1024, 100_000, 2]
def send_all(number):
    for size in sizes * 20:
        message = bytes([number]) * size
        assert send(clients[number], address(PORT), message, number, number + 1) == size
senders = [threading.Thread(target=send_all, args=(n,)) for n in range(3)]
[t.start() for t in senders]
received = {0: [], 1: [], 2: []}
peers = {}
for _ in range(3 * 20 * len(sizes)):
    assert readable(server)
    message, peer, flags, stream, ppid = receive(server)
    number = message[0]
    assert set(message) == {number} and flags == EOR and (stream, ppid) == (number + 1, number)
    assert peers.setdefault(number, peer) == peer
    received[number].append(len(message))
[t.join() for t in senders]
for number in range(3):
    send(server, peers[number], b"back to %d" % number)
back = [receive(client)[0].decode() for client in clients]
show(in_order=all(got == sizes * 20 for got in received.values()), back=back,
     distinct=len(set(peers.values())), more=readable(server, 0.05))
""",
    )
    assert facts == {
        "in_order": True,
        "back": ["back to 0", "back to 1", "back to 2"],
        "distinct": 3,
        "more": False,
    }


def test_a_message_longer_than_the_buffer_is_truncated_and_the_next_is_whole(
    sctp_over_tcp: str,
) -> None:
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
server, client = endpoint(PORT), endpoint()
send(client, address(PORT), b"x" * 50_000)
send(client, address(PORT), b"next")
cut, _, flags, _, _ = receive(server, 1000)
show(cut=len(cut), truncated=flags == TRUNC, next=receive(server, 1000)[0].decode())
""",
    )
    assert facts == {"cut": 1000, "truncated": True, "next": "next"}


def test_a_one_to_one_socket_connects_as_a_gnb_to_its_amf(sctp_over_tcp: str) -> None:
    """Connect as OAI does: bind to an address alone, ask for streams, send without an address."""
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
server, clients = endpoint(PORT), []
for _ in range(2):
    fd = libc.socket(socket.AF_INET, socket.SOCK_STREAM, SCTP)
    unconnected = libc.sctp_sendmsg(fd, b"early", 5, None, 0, 60, 0, 1, 0, 0)
    assert libc.setsockopt(fd, SCTP, EVENTS, bytes([1, 1, 0, 0, 0, 1, 0, 0]), 8) == 0
    assert libc.sctp_bindx(fd, address(0), 1, 1) == 0
    made = ctypes.c_int(0)
    assert libc.sctp_connectx(fd, address(PORT), 1, ctypes.byref(made)) == 0
    message, _, flags, _, _ = receive(fd)
    assert flags & NOTIFICATION and struct.unpack_from("=H6xH", message) == (ASSOC_CHANGE, COMM_UP)
    status, room = ctypes.create_string_buffer(176), ctypes.c_int(176)
    assert libc.getsockopt(fd, SCTP, 14, status, ctypes.byref(room)) == 0
    number, _, _, _, _, incoming, outgoing = struct.unpack_from("=iiIHHHH", status.raw)
    clients.append([number == made.value, number, min(incoming, outgoing) > 1, unconnected])
    assert libc.sctp_sendmsg(fd, b"hello", 5, None, 0, 60, 0, 1, 0, 0) == 5
    got, peer, _, stream, ppid = receive(server)
    send(server, peer, b"back")
    clients[-1] += [got.decode(), stream, ppid, receive(fd)[0].decode()]
show(clients=clients, distinct=clients[0][1] != clients[1][1])
""",
    )
    for same, _, streams, unconnected, *exchanged in facts["clients"]:
        assert (same, streams, unconnected) == (True, True, -1)
        assert exchanged == ["hello", 1, 60, "back"]
    assert facts["distinct"]


def test_a_one_to_one_listener_accepts_as_a_cu_does_its_dus(sctp_over_tcp: str) -> None:
    """Wait for the listener as OAI does, accept without its address, ask for the association, send
    and receive over the socket of each DU."""
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
events = bytes([1, 1, 0, 0, 0, 1, 0, 0])
def one_to_one():
    fd = libc.socket(socket.AF_INET, socket.SOCK_STREAM, SCTP)
    assert libc.setsockopt(fd, SCTP, EVENTS, events, 8) == 0
    return fd
def association(fd):
    status, room = ctypes.create_string_buffer(176), ctypes.c_int(176)
    assert libc.getsockopt(fd, SCTP, 14, status, ctypes.byref(room)) == 0
    return struct.unpack_from("=i", status.raw)[0]
cu = one_to_one()
assert libc.sctp_bindx(cu, address(PORT), 1, 1) == 0 and libc.listen(cu, 5) == 0
idle = readable(cu, 0.05)
dus, accepted = [one_to_one(), one_to_one()], []
for number, du in enumerate(dus):
    assert libc.sctp_connectx(du, address(PORT), 1, None) == 0
    receive(du)  # that it is connected
    assert readable(cu)
    room = ctypes.c_int(28)
    peer = ctypes.create_string_buffer(28)
    accepted.append(libc.accept(cu, peer, ctypes.byref(room)))
    assert room.value == 16 and peer.raw[:2] == struct.pack("=H", socket.AF_INET)
more = readable(cu, 0.05)
got = []
for number, (du, at_cu) in enumerate(zip(dus, accepted)):
    libc.sctp_sendmsg(du, b"setup %d" % number, 7, None, 0, 62, 0, 0, 0, 0)
    assert readable(at_cu)
    message, _, flags, _, ppid = receive(at_cu)
    libc.sctp_sendmsg(at_cu, b"back", 4, None, 0, 62, 0, 0, 0, 0)
    got.append([message.decode(), flags == EOR, ppid, receive(du)[0].decode()])
libc.close(dus[0])
assert readable(accepted[0])
ends = [struct.unpack_from("=H", receive(accepted[0])[0])[0] for _ in range(2)]
libc.sctp_sendmsg(dus[1], b"still here", 10, None, 0, 62, 0, 0, 0, 0)
show(idle=idle, more=more, got=got, ends=ends, other=receive(accepted[1])[0].decode(),
     distinct=association(accepted[0]) != association(accepted[1]))
""",
    )
    assert facts == {
        "idle": False,
        "more": False,
        "got": [["setup 0", True, 62, "back"], ["setup 1", True, 62, "back"]],
        "ends": [0x8001, 0x8005],
        "other": "still here",
        "distinct": True,
    }


def test_association_events_are_delivered_when_enabled(sctp_over_tcp: str) -> None:
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
server, client = endpoint(PORT, association=1, shutdown=1), endpoint()
send(client, address(PORT), b"hello")
time.sleep(0.1)  # both are there before either is taken
took = []
def take():
    assert readable(server)
    message, peer, flags, _, _ = receive(server)
    if flags & NOTIFICATION:
        kind, state = struct.unpack_from("=H6xH", message)
        took.append([kind, state] if kind == ASSOC_CHANGE else [kind])
    else:
        took.append(message.decode())
take(), take()
libc.close(client)
take(), take()
show(took=took, more=readable(server, 0.05))
""",
    )
    assert facts == {"took": [[0x8001, 0], "hello", [0x8001, 3], [0x8005]], "more": False}


def test_without_events_an_end_is_silent_and_loses_no_message(sctp_over_tcp: str) -> None:
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
server, client, other = endpoint(PORT), endpoint(), endpoint()
send(client, address(PORT), b"last words")
libc.close(client)
first = readable(server)
words = receive(server)[0].decode()
idle = readable(server, 0.2)
send(other, address(PORT), b"still here")
show(first=first, words=words, idle=idle, other=receive(server)[0].decode())
""",
    )
    assert facts == {"first": True, "words": "last words", "idle": False, "other": "still here"}


def test_a_send_to_an_absent_peer_succeeds_and_fails_later(sctp_over_tcp: str) -> None:
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
server = endpoint(PORT, failure=1)
sent = send(server, address(9), b"gone")
message, peer, flags, _, _ = receive(server)
show(sent=sent, kind=struct.unpack_from("=H", message)[0], notified=bool(flags & NOTIFICATION),
     to=peer[:8] == address(9)[:8])
""",
    )
    assert facts == {"sent": 4, "kind": 0x8003, "notified": True, "to": True}


def test_a_client_without_a_server_is_refused(sctp_over_tcp: str) -> None:
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
sent = send(endpoint(), address(PORT), b"hello")
show(sent=sent, why=os.strerror(ctypes.get_errno()))
""",
    )
    assert facts == {"sent": -1, "why": "Connection refused"}


def test_only_sctp_sockets_are_affected(sctp_over_tcp: str) -> None:
    facts = output_of(
        sctp_over_tcp,
        LIBRARY
        + """
def kind(fd):
    value, size = ctypes.c_int(0), ctypes.c_int(4)
    name = socket.SO_TYPE
    libc.getsockopt(fd, socket.SOL_SOCKET, name, ctypes.byref(value), ctypes.byref(size))
    return value.value
ours, theirs = socket.socketpair()
theirs.send(b"plain")
show(sctp=kind(endpoint()) == socket.SOCK_SEQPACKET, tcp=kind(ours.fileno()) == socket.SOCK_STREAM,
     plain=readable(ours.fileno()) and ours.recv(10).decode())
""",
    )
    assert facts == {"sctp": True, "tcp": True, "plain": "plain"}


# ---- level-triggered sockets: a second message is not left unread

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


def read_one_per_event(kind: str, preload: str) -> Any:
    """What a program reads that waits edge-triggered and reads one message for each event."""
    return output_of(preload, ONE_PER_EVENT, kind)


def test_messages_that_come_together_are_all_read(level_triggered: str) -> None:
    assert read_one_per_event("SOCK_SEQPACKET", level_triggered) == ["1", "2", "3", "4"]


def test_without_the_library_further_messages_stay_unread() -> None:
    # Without the library: one message is read per event, further ones stay.
    assert read_one_per_event("SOCK_SEQPACKET", "") == ["1", "2"]


def test_other_sockets_stay_edge_triggered(level_triggered: str) -> None:
    assert read_one_per_event("SOCK_STREAM", level_triggered) == read_one_per_event(
        "SOCK_STREAM", ""
    )
