"""Network namespaces of gNB and UE: each has an end of the tunnel through the radio.

They have no names, so that they end with the programs in them and nothing is left behind.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final, NoReturn

from sojourn_demo import DemoError
from sojourn_demo.load.commands import ENDS_WITH_PARENT
from sojourn_demo.programs import Program, Programs

RADIO_NETWORK: Final = IPv4Network("192.168.77.0/24")
"""Addresses of the links that carry the samples of the RF simulator, four for each UE."""
UE_ADDRESS: Final = "10.0.1.2"
"""The UE's end of the tunnel, as OAI sets it without a core network."""
UE_TUN: Final = "oaitun_ue1"
GNB_TUN: Final = "oaitun_enb1"
COLUMNS: Final = {"rx": 2, "tx": 10, "tx_dropped": 12}
"""Columns of /proc/net/dev."""


def enter(command: Sequence[str]) -> NoReturn:
    """Replaces this process by `command` in a network namespace of its own, that of the gNB."""
    # Without root, in a user namespace in which it is root.
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    os.execvp("unshare", ["unshare", *user, "--net", "--", *command])  # noqa: S606, S607


class UeNamespace:
    """The UE's network namespace, linked to this one. It lasts as long as its holder."""

    def __init__(self, holder: Program, number: int) -> None:
        """`holder` is a process in the namespace, `number` that of the link, from 0."""
        self._namespace = Path(f"/proc/{holder.process.pid}/ns/net")
        self.gnb_radio, self.ue_radio = (str(RADIO_NETWORK[4 * number + end]) for end in (1, 2))
        """Addresses of the link's ends."""

    @classmethod
    async def make(cls, programs: Programs, number: int = 0) -> UeNamespace:
        """Makes the namespace of a UE and the link, `number` of 0 to 63; raises `DemoError` if that
        is not allowed."""
        command = (*ENDS_WITH_PARENT, "unshare", "--net", "--", "sleep", "infinity")
        holder = programs.spawn(command, name="ue-namespace", has_ready_line=False)
        made = cls(holder, number)
        await programs.wait_until(holder, made._is_other)
        pid = str(holder.process.pid)
        # The kernel takes its time to remove that of a namespace whose programs have ended.
        radio = f"radio{number}"
        _output(("ip", "link", "delete", radio))
        _ip("link", "set", "lo", "up")
        _ip("link", "add", radio, "type", "veth", "peer", "name", "radio", "netns", pid)
        for prefix, device, address in (
            ((), radio, made.gnb_radio),
            (made.prefix, "radio", made.ue_radio),
        ):
            _ip("address", "add", f"{address}/30", "dev", device, prefix=prefix)
            _ip("link", "set", device, "up", prefix=prefix)
        _ip("link", "set", "lo", "up", prefix=made.prefix)
        return made

    @property
    def prefix(self) -> tuple[str, ...]:
        """Words before a command that run it there."""
        return ("nsenter", f"--net={self._namespace}")

    def packets(self, device: str, direction: str) -> int | None:
        """Packets that a device there has received (``rx``), sent (``tx``), or dropped before it
        sent them (``tx_dropped``); None without the device."""
        return _packets(_output((*self.prefix, "cat", "/proc/net/dev")), device, direction)

    def _is_other(self) -> bool:
        try:
            return self._namespace.readlink() != Path("/proc/self/ns/net").readlink()
        except OSError:
            return False


def packets(device: str, direction: str) -> int | None:
    """Packets of a device in this namespace; see `UeNamespace.packets`."""
    return _packets(Path("/proc/net/dev").read_text(), device, direction)


def _packets(text: str, device: str, direction: str) -> int | None:
    """Packets of a device, out of the text of /proc/net/dev; None without the device."""
    for words in map(str.split, text.replace(":", ": ").splitlines()):
        if words and words[0] == f"{device}:":
            return int(words[COLUMNS[direction]])
    return None


def _ip(*words: str, prefix: Sequence[str] = ()) -> None:
    done = subprocess.run(  # noqa: S603 - words of this module
        [*prefix, "ip", *words], check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        reason = done.stderr.strip() or f"status {done.returncode}"
        raise DemoError(f"ip {' '.join(words)}: {reason}; expected to be allowed to make a network")


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    return done.stdout
