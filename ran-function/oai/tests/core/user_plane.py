"""The UPF: packets between a TUN device and the GTP-U tunnels of PDU sessions (29.281)."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from typing import Final

from core.nas import Flow
from core.ngap import Tunnel

PORT: Final = 2152
G_PDU, ECHO_REQUEST, ECHO_RESPONSE = 255, 1, 2
HEADER: Final = struct.Struct("!BBHI")
OPTIONAL_BYTES: Final = 4
"""Sequence number, N-PDU number and type of the next extension header."""
HAS_OPTIONAL: Final = 0x07
PDU_SESSION_CONTAINER: Final = 0x85
"""Extension header with the QoS flow (38.415 §5.5.2.1)."""
LONGEST_BYTES: Final = 65536
PACKETS_AT_ONCE: Final = 64
TUNSETIFF, IFF_TUN_NO_PI = 0x400454CA, 0x1001


@dataclass(frozen=True, slots=True)
class Session:
    """Downlink of a PDU session."""

    downlink: Tunnel
    flows: tuple[Flow, ...]

    def encapsulated(self, packet: bytes) -> bytes:
        """`packet` as a G-PDU with the QoS flow that its DSCP names."""
        dscp = packet[1] >> 2
        qfi = next((flow.qfi for flow in self.flows if flow.dscp == dscp), None)
        if qfi is None:
            qfi = next((flow.qfi for flow in self.flows if flow.dscp is None), 1)
        extension = bytes([0, 0, 0, PDU_SESSION_CONTAINER, 1, 0, qfi, 0])
        length = len(extension) + len(packet)
        return HEADER.pack(0x34, G_PDU, length, self.downlink.teid) + extension + packet


def decapsulated(message: bytes) -> tuple[int, bytes] | None:
    """TEID and packet of a G-PDU; `None` for what is none."""
    if len(message) < HEADER.size:
        return None
    flags, kind, length, teid = HEADER.unpack_from(message)
    if flags >> 5 != 1 or kind != G_PDU or HEADER.size + length > len(message):
        return None
    at, end = HEADER.size, HEADER.size + length
    if flags & HAS_OPTIONAL:
        at += OPTIONAL_BYTES
        following = message[at - 1] if at <= end else 0
        while following:
            if at >= end or message[at] == 0:
                return None
            at += 4 * message[at]
            following = message[at - 1] if at <= end else 0
    return (teid, message[at:end]) if at < end else None


class UserPlane:
    """Device and socket, and the thread between them."""

    def __init__(self, address: IPv4Address, device: str, network: IPv4Interface) -> None:
        """Makes the device with the first address of the UEs' network, and listens for GTP-U.

        Raises:
            OSError: That is not allowed, or the port is in use.
        """
        self.address = address
        self._sessions: dict[bytes, Session] = {}
        self._teids: dict[int, bytes] = {}
        self._tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self._tun, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN_NO_PI))
        for words in (
            ("link", "set", "lo", "up"),
            ("address", "add", str(network), "dev", device),
            ("link", "set", device, "up", "txqueuelen", "1000"),
        ):
            subprocess.run(("ip", *words), check=True)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._socket.bind((str(address), PORT))
        self._socket.setblocking(False)
        threading.Thread(target=self._run, daemon=True).start()

    def add(
        self, ue: IPv4Address, uplink_teid: int, downlink: Tunnel, flows: Sequence[Flow]
    ) -> None:
        """Carries the packets of a UE's address, from now on."""
        self._teids[uplink_teid] = ue.packed
        self._sessions[ue.packed] = Session(downlink, tuple(flows))

    def remove(self, ue: IPv4Address, uplink_teid: int) -> None:
        """Carries them no more."""
        self._teids.pop(uplink_teid, None)
        self._sessions.pop(ue.packed, None)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._tun, select.POLLIN)
        poll.register(self._socket, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                move = self._down if descriptor == self._tun else self._up
                for _ in range(PACKETS_AT_ONCE):
                    try:
                        move()
                    except BlockingIOError:
                        break
                    except OSError:
                        # A packet that the kernel refuses is lost, as on any link.
                        continue

    def _down(self) -> None:
        packet = os.read(self._tun, LONGEST_BYTES)
        session = self._sessions.get(packet[16:20]) if packet[0] >> 4 == 4 else None
        if session is not None:
            to = (str(session.downlink.address), PORT)
            self._socket.sendto(session.encapsulated(packet), to)

    def _up(self) -> None:
        message, sender = self._socket.recvfrom(LONGEST_BYTES)
        if len(message) >= HEADER.size and message[1] == ECHO_REQUEST:
            echo = bytes([0x32, ECHO_RESPONSE]) + struct.pack("!HIHHBB", 6, 0, 0, 0, 14, 0)
            self._socket.sendto(echo, sender)
            return
        found = decapsulated(message)
        # A UE sends from its own address alone.
        if found is not None and found[1][12:16] == self._teids.get(found[0]):
            os.write(self._tun, found[1])
