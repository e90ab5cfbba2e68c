"""``irtt``: small UDP packets both ways at a fixed interval, as a voice call sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sojourn_demo import DemoError

PORT: Final = 2112
INTERVAL_MS: Final = 20
PAYLOAD_BYTES: Final = 172
"""G.711 in frames of 20 ms with a header of RTP (ITU-T G.711, RFC 3550)."""
EXPEDITED: Final = 46
"""DSCP of voice, expedited forwarding (RFC 3246)."""
WAIT_S: Final = 3
"""How long answers may come behind the last packet."""
OPEN_TIMEOUTS: Final = "20s,20s"
"""Timeouts of the two requests to begin. A full RLC on a slow radio answers after seconds, and
irtt's client ends at the answer to an earlier request."""


def server() -> tuple[str, ...]:
    """The command of the server."""
    return ("irtt", "server", "-b", f":{PORT}")


def client(address: str, seconds: float, out: Path) -> tuple[str, ...]:
    """The command of a client that sends for `seconds` and writes JSON to `out`."""
    return (
        *("irtt", "client", "-Q", "-i", f"{INTERVAL_MS}ms", "-l", str(PAYLOAD_BYTES)),
        *("-d", f"{seconds:.3f}s", f"--dscp={EXPEDITED}", f"--wait={WAIT_S}s"),
        f"--timeouts={OPEN_TIMEOUTS}",
        *("-o", str(out), f"{address}:{PORT}"),
    )


def downlink(out: Path) -> Iterator[tuple[int, float]]:
    """When each packet from the server came, Unix time in µs, and its one-way delay in µs.

    Client and server read one clock, as they are on one machine.

    Raises:
        DemoError: `out` is no result of irtt, or the client gave up.
    """
    try:
        result = json.loads(out.read_text())
        trips = result["round_trips"]
        if failed := result.get("receive_err") or result.get("send_err"):
            message = f"{out}: irtt ended after {len(trips)} packets by error {failed}"
            raise DemoError(message)
        for trip in trips:
            if trip["lost"] == "false":
                received_ns = int(trip["timestamps"]["client"]["receive"]["wall"])
                yield received_ns // 1000, float(trip["delay"]["receive"]) / 1e3
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DemoError(f"{out}: {error!r}; expected a result of irtt") from error
