"""Rows about the programs themselves: their connection to the E2 gateway, CPU, memory, security."""

from __future__ import annotations

from sojourn_dashboards.colours import BAD
from sojourn_dashboards.frame import Row, rate, selector
from sojourn_dashboards.panels import Query, card, lines, timeline
from sojourn_dashboards.states import CONNECTED


def _absent(program: str) -> str:
    return f"No {program} is scraped: check `up` of the job {program} and the variables above."


def connection_row(program: str) -> Row:
    """The program as a client of the E2 gateway."""
    only = f'job="{program}"'
    empty = _absent(program)
    latency = rate("sojourn_e2_indication_latency_seconds_bucket", only)
    taken = rate("sojourn_e2_indication_leg_seconds_sum", only)
    arrived = rate("sojourn_e2_indication_leg_seconds_count", only)
    return Row(
        "E2 gateway, as it sees it",
        (
            timeline(
                card(
                    "Connection to the E2 gateway",
                    "none",
                    Query(
                        f"min by (instance) ({selector('sojourn_e2_gateway_connected', only)})",
                        "{{instance}}",
                    ),
                    about="Disconnected: check gateway or bridge; the program reconnects.",
                    empty=empty,
                    size=(24, 4),
                ),
                words=CONNECTED,
                names=None,
            ),
            lines(
                card(
                    "Indications handled",
                    "cps",
                    Query(
                        f"sum by (node) ({rate('sojourn_e2_indications_total', only)})", "{{node}}"
                    ),
                    about="Indications of each node, all RAN functions.",
                    empty=empty,
                    size=(8, 8),
                ),
            ),
            lines(
                card(
                    "Indications lost",
                    "cps",
                    Query(
                        f"sum by (reason) ({rate('sojourn_e2_indications_missed_total', only)})",
                        "{{reason}}",
                    ),
                    Query(
                        f"sum({rate('sojourn_e2_indications_bad_total', only)})",
                        "not decodable",
                        BAD,
                    ),
                    about="`gateway`: dropped before they came. `slow_handler`: the program is too "
                    "slow, give it a core. Not decodable: versions of node and service model "
                    "differ.",
                    empty="None was lost in this time.",
                    size=(8, 8),
                ),
            ),
            lines(
                card(
                    "Age of indications",
                    "s",
                    *(
                        Query(
                            f"histogram_quantile({q}, sum by (le) ({latency}))",
                            f"p{round(100 * q)}",
                        )
                        for q in (0.5, 0.99)
                    ),
                    Query(f"sum by (leg) ({taken}) / sum by (leg) ({arrived})", "mean {{leg}}"),
                    about="Age of an indication when its handler gets it, and the mean time of "
                    "each leg of its way.",
                    empty=empty,
                    size=(8, 8),
                ),
                logarithmic=True,
            ),
        ),
    )


def process_row(program: str, title: str = "Process", *, collapsed: bool) -> Row:
    """CPU, memory and security of the program."""
    only = f'job="{program}"'
    empty = _absent(program)
    return Row(
        title,
        (
            lines(
                card(
                    f"CPU of {program}",
                    "percentunit",
                    Query(rate("process_cpu_seconds_total", only), "{{instance}}"),
                    about="Load in cores: 100 % is one core.",
                    empty=empty,
                    size=(6, 7),
                ),
            ),
            lines(
                card(
                    f"Memory of {program}",
                    "decbytes",
                    Query(selector("process_resident_memory_bytes", only), "{{instance}}"),
                    about="Resident memory.",
                    empty=empty,
                    size=(6, 7),
                ),
            ),
            lines(
                card(
                    f"Requests refused of {program}",
                    "cps",
                    Query(
                        f"sum by (door, reason) ({rate('sojourn_access_refused_total', only)})",
                        "{{door}}: {{reason}}",
                    ),
                    about="By the access file: `unauthenticated` unknown client, `right` missing "
                    "right, `node` node outside the client's. The audit log names the client.",
                    empty="None was refused in this time.",
                    size=(6, 7),
                ),
            ),
            lines(
                card(
                    f"Limited clients of {program}",
                    "cps",
                    Query(
                        f"sum by (client, limit) ({rate('sojourn_limited_total', only)})",
                        "{{client}}: {{limit}}",
                    ),
                    about="What clients were refused or lost by their limits: calls and requests "
                    "beyond their rate, streams, viewers and connections beyond their share.",
                    empty="No client reached a limit in this time.",
                    size=(6, 7),
                ),
            ),
        ),
        collapsed,
    )
