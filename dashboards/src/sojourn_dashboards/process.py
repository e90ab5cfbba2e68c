"""Rows about the programs themselves: their connection to the E2 gateway, CPU, memory, security."""

from __future__ import annotations

from sojourn_dashboards.colours import BAD
from sojourn_dashboards.kinds import lines, log_lines, timeline
from sojourn_dashboards.queries import quantile
from sojourn_dashboards.states import CONNECTED
from sojourn_dashboards.table import Query, Row


def _absent(program: str) -> str:
    return f"No {program} is scraped: check `up` of the job {program} and the variables above."


def connection_row(program: str) -> Row:
    """The program as a client of the E2 gateway."""
    of = f'{{job="{program}"}}'
    counted = f"{of}[$__rate_interval]"
    age = f"sojourn_e2_indication_latency_seconds_bucket{of}"
    taken = f"sum by (leg) (rate(sojourn_e2_indication_leg_seconds_sum{counted}))"
    arrived = f"sum by (leg) (rate(sojourn_e2_indication_leg_seconds_count{counted}))"
    return Row(
        "E2 gateway, as it sees it",
        timeline(
            "Connection to the E2 gateway",
            Query(f"min by (instance) (sojourn_e2_gateway_connected{of})", "{{instance}}"),
            "Disconnected: check gateway or bridge; the program reconnects.",
            words=CONNECTED,
            size=(24, 4),
        ),
        lines(
            "Indications handled",
            Query(f"sum by (node) (rate(sojourn_e2_indications_total{counted}))", "{{node}}"),
            "Indications of each node, all RAN functions.",
            unit="cps",
        ),
        lines(
            "Indications lost",
            [
                Query(
                    f"sum by (reason) (rate(sojourn_e2_indications_missed_total{counted}))",
                    "{{reason}}",
                ),
                Query(
                    f"sum(rate(sojourn_e2_indications_bad_total{counted}))", "not decodable", BAD
                ),
            ],
            "`gateway`: dropped before they came. `slow_handler`: the program is too slow, give it "
            "a core. Not decodable: versions of node and service model differ.",
            unit="cps",
            empty="None was lost in this time.",
        ),
        log_lines(
            "Age of indications",
            [
                Query(quantile(0.5, age), "p50"),
                Query(quantile(0.99, age), "p99"),
                Query(f"{taken} / {arrived}", "mean {{leg}}"),
            ],
            "Age of an indication when its handler gets it, and the mean time of each leg of its "
            "way.",
            unit="s",
        ),
        empty=_absent(program),
    )


def process_row(program: str, title: str = "Process") -> Row:
    """CPU, memory and security of the program."""
    of = f'{{job="{program}"}}'
    counted = f"{of}[$__rate_interval]"
    return Row(
        title,
        lines(
            f"CPU of {program}",
            Query(f"rate(process_cpu_seconds_total{counted})", "{{instance}}"),
            "Load in cores: 100 % is one core.",
            unit="percentunit",
        ),
        lines(
            f"Memory of {program}",
            Query(f"process_resident_memory_bytes{of}", "{{instance}}"),
            "Resident memory.",
            unit="decbytes",
        ),
        lines(
            f"Requests refused of {program}",
            Query(
                f"sum by (door, reason) (rate(sojourn_access_refused_total{counted}))",
                "{{door}}: {{reason}}",
            ),
            "By the access file: `unauthenticated` unknown client, `right` missing right, `node` "
            "node outside the client's. The audit log names the client.",
            unit="cps",
            empty="None was refused in this time.",
        ),
        lines(
            f"Limited clients of {program}",
            Query(
                f"sum by (client, limit) (rate(sojourn_limited_total{counted}))",
                "{{client}}: {{limit}}",
            ),
            "What clients were refused or lost by their limits: calls and requests beyond their "
            "rate, streams, viewers and connections beyond their share.",
            unit="cps",
            empty="No client reached a limit in this time.",
        ),
        empty=_absent(program),
        size=(6, 7),
        collapsed=True,
    )
