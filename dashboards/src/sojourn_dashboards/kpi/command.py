"""The subcommand `ric report`: arguments and output."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ric.flags import folder_to_write
from ric.terminal import complain, show

from sojourn_dashboards.api import Api
from sojourn_dashboards.kpi.measures import rows, sentence
from sojourn_dashboards.kpi.totals import Period, Site, Totals, read_piece
from sojourn_dashboards.promql import QueryError

_DESCRIPTION = """Write what control gained at each site, from a Prometheus that scrapes the
controllers: delay of sparse, bulk and inherited packets apart, the measurements of TS 28.552, time
above the bound; before and after, worst site first. For a weekly report: kpi.html, kpi.csv."""
EXAMPLE = "ric report --since 7d --prometheus http://127.0.0.1:9090 --out report"
_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})([hd])")
_UNITS_S: Final = {"h": 3600, "d": 86_400}
_LONGEST_S: Final = 92 * 86_400
MODE: Final = "mode"
_EXISTS: Final = "sojourn_controller_acting"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = f"example:\n  {EXAMPLE}"
    parser.add_argument(
        "--prometheus", required=True, metavar="URL", help="address of the Prometheus"
    )
    parser.add_argument(
        "--since",
        type=span_s,
        default="7d",
        metavar="SPAN",
        help="length of the time reported on, up to now: hours as 12h, days as 7d"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--compare-to",
        type=_compared,
        metavar="SPAN|mode",
        help="before is the time of the same length that ended so long ago (default: directly"
        " before), or, with mode, the part of the time in which no controller of the site acted",
    )
    parser.add_argument(
        "--out",
        type=folder_to_write,
        default=Path(),
        metavar="DIRECTORY",
        help="gets kpi.html and kpi.csv (default: this one)",
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="its first line is sent as a bearer token"
    )
    parser.add_argument(
        "--ca-file", type=Path, metavar="FILE", help="authorities of an https address, PEM"
    )


def span_s(text: str) -> int:
    """A span such as `7d`, in seconds; a type for `add_argument`."""
    found = _SPAN.fullmatch(text)
    seconds = int(found[1]) * _UNITS_S[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r}; expected 1h to 92d, such as 12h or 7d")
    return seconds


def periods(now_s: int, since_s: int, compared: int | None) -> tuple[Period, Period]:
    """Before and after; `compared` is the age of the end of before, 0 for the mode."""
    start_s = now_s - since_s
    if compared == 0:
        return Period("before", start_s, now_s, False), Period("after", start_s, now_s, True)
    end_s = now_s - (compared or since_s)
    return Period("before", end_s - since_s, end_s), Period("after", start_s, now_s)


def run(given: argparse.Namespace) -> int:
    """Read, write, and return the exit status."""
    # Whole steps of the queries.
    chosen = periods(int(time.time()) // 300 * 300, given.since, given.compare_to)
    try:
        api = Api(given.prometheus, token_file=given.token_file, ca_file=given.ca_file)
        _expect_series(api, chosen[1])
        totals, course = _read(api, chosen)
    except QueryError as error:
        complain("ric report", error)
        return 1
    found = rows(*totals)
    # matplotlib takes a second to load.
    from sojourn_dashboards.kpi.files import write_csv, write_page  # noqa: PLC0415

    given.out.mkdir(parents=True, exist_ok=True)
    write_csv(given.out / "kpi.csv", found)
    write_page(given.out / "kpi.html", found, chosen, course, api.url)
    show("".join(f"{sentence(row)}\n" for row in found))
    return 0


def _compared(text: str) -> int:
    return 0 if text == MODE else span_s(text)


def _expect_series(api: Api, period: Period) -> None:
    span = period.end_s - period.start_s
    query = f"count(last_over_time({_EXISTS}[{span}s]))"
    if not api.get("query", query=query, time=str(period.end_s))["result"]:
        since = time.strftime("%Y-%m-%d %H:%M", time.gmtime(period.start_s))
        raise QueryError(
            f"no series {_EXISTS} in {api.url} since {since} UTC; expected a Prometheus that "
            "scrapes a tc-controller"
        )


def _read(
    api: Api, chosen: Sequence[Period]
) -> tuple[list[dict[Site, Totals]], dict[Site, list[tuple[int, float]]]]:
    """Totals of each period, and the course of the delay of sparse packets, ms."""
    pieces = [(number, *each) for number, one in enumerate(chosen) for each in one.pieces()]
    totals: list[dict[Site, Totals]] = [defaultdict(Totals) for _ in chosen]
    course: dict[Site, dict[int, Totals]] = defaultdict(lambda: defaultdict(Totals))
    for done, (number, start_s, end_s) in enumerate(pieces):
        if sys.stderr.isatty():
            sys.stderr.write(f"\rreading {done} of {len(pieces)} pieces")
        for site, piece in read_piece(api, chosen[number], start_s, end_s).items():
            totals[number][site].add(piece)
            course[site][end_s].add(piece)
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    if not any(totals):
        raise QueryError(f"{api.url}: controllers without a bearer; expected some that had one")
    lines: dict[Site, list[tuple[int, float]]] = {}
    for site, ends in course.items():
        means = ((end_s, ends[end_s].ratio("kind_sum", "kind_count", "sparse")) for end_s in ends)
        lines[site] = sorted((end_s, 1e3 * mean) for end_s, mean in means if mean is not None)
    return totals, lines
