"""Where the near-RT RIC is: its host name as the IPv4 address FlexRIC needs, and a preflight.

FlexRIC resolves no names, and its address changes when Kubernetes restarts it.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import re
import socket
import time
from collections.abc import Callable
from typing import Final

E42_PORT: Final = 36422
"""SCTP port of FlexRIC's near-RT RIC for xApps; fixed in FlexRIC."""
_HOST: Final = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*\.?")
_NUMERIC: Final = re.compile(r"[0-9.]+")
_CONNECT_S: Final = 3.0
_RETRY_S: Final = 1.0


class Unreachable(Exception):  # noqa: N818 - says what happened
    """The RIC cannot be reached; the message says why and what to look at."""


class NoSctp(Unreachable):
    """The kernel refuses SCTP sockets."""


def check_host(host: str) -> str:
    """The host, or `ValueError` if it is neither an IPv4 address nor a host name."""
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        if _NUMERIC.fullmatch(host) or not _HOST.fullmatch(host):
            port = f": E42 has always {E42_PORT}, and 36421 is E2, for gNBs" if ":" in host else ""
            raise ValueError(
                f"not an address; expected IPv4 or a host name, without a port{port}"
            ) from None
    return host


async def ipv4_of(host: str) -> str:
    """The host's IPv4 address; `Unreachable` if it has none."""
    if _NUMERIC.fullmatch(host):
        return host
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, family=socket.AF_INET)
    except OSError as error:
        raise Unreachable(f"{host} does not resolve to an IPv4 address: {error}") from None
    return str(found[0][4][0])


def connect(host: str, port: int = E42_PORT) -> str:
    """Open and close an SCTP association with the RIC; returns its IPv4 address.

    Raises `NoSctp` if this node's kernel has no SCTP, else `Unreachable`.
    """
    try:
        sctp = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
    except OSError as error:
        raise NoSctp(
            f"the node has no SCTP ({error.strerror}); load the kernel module: modprobe sctp"
        ) from None
    with sctp:
        address = asyncio.run(ipv4_of(host))
        sctp.settimeout(_CONNECT_S)
        try:
            sctp.connect((address, port))
        except OSError as error:
            where = f"{host} ({address}), port {port}/SCTP,"
            if error.errno == errno.ECONNREFUSED:
                raise Unreachable(f"{where} refuses the connection; is the RIC up?") from None
            raise Unreachable(
                f"{where} does not answer ({error}); does the network plugin carry SCTP, does a"
                " NetworkPolicy forbid it, has the Service an SCTP port?"
            ) from None
    return address


def preflight(
    host: str,
    wait_s: float,
    report: Callable[[str], None],
    attempt: Callable[[str], str] = connect,
) -> int:
    """Try until the RIC answers; returns an exit status.

    0 also if it does not answer within `wait_s`, for the bridge itself goes on trying; 2 without
    SCTP, which no retry mends. `report` gets each reason once, and the result.
    """
    ends_at_s = time.monotonic() + wait_s
    reported = ""
    while True:
        try:
            address = attempt(host)
        except NoSctp as error:
            report(str(error))
            return 2
        except Unreachable as error:
            if str(error) != reported:
                reported = str(error)
                report(reported)
            if time.monotonic() >= ends_at_s:
                report(f"not reached within {wait_s:g} s; the bridge goes on trying")
                return 0
            time.sleep(_RETRY_S)
        else:
            report(f"the near-RT RIC answers at {address}, port {E42_PORT}/SCTP")
            return 0
