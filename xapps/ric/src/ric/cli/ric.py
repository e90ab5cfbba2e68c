"""`ric`: inspect an E2 gateway.

`ric nodes` prints the nodes and their RAN functions; `ric watch` prints indications as JSON lines.
Other distributions add subcommands by the entry-point group `ric.commands`.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Protocol

from pydantic import Field

from ric import logs
from ric.beside import beside
from ric.e2 import Indication, Node
from ric.errors import RicError, ServiceModelError, SettingsError
from ric.flags import whole_number
from ric.gateway import E2GatewayClient, GrpcLink
from ric.settings import (
    GatewaySettings,
    LogSettings,
    ProgramParser,
    ProgramSettings,
    add_settings_arguments,
    settings_from,
)
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, mac, ran_function_name, rlc, tc
from ric.sm.plain import event_trigger
from ric.terminal import complain, show
from ric.version import VERSION

_OIDS = {"rlc": RLC_OID, "mac": MAC_OID, "kpm": KPM_OID, "tc_v0": TC_V0_OID, "tc_v1": TC_V1_OID}


COMMANDS: Final = "ric.commands"
"""Entry-point group of subcommands: each entry names a module with the functions of `Command`."""
_ELSEWHERE: Final = {
    "doctor": "sojourn-ric-doctor",
    "plan": "sojourn-oai-plan",
    "report": "sojourn-dashboards",
}
"""Subcommands of other distributions of ours."""


class Command(Protocol):
    """A subcommand of another distribution."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, given: argparse.Namespace) -> int:
        """Run; returns the exit status."""


class RicSettings(ProgramSettings):
    """Inspect an E2 gateway: its nodes and their indications."""

    gateway: GatewaySettings = Field(
        default_factory=GatewaySettings, title="Gateway", description="The E2 gateway."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    installed = {entry.name: entry for entry in entry_points(group=COMMANDS)}
    if words[:1] and words[0] in _ELSEWHERE.keys() - installed.keys():
        distribution = _ELSEWHERE[words[0]]
        sys.stderr.write(f"ric {words[0]}: not installed; install {distribution}\n")
        return 2
    logs.configure(LogSettings(level="warning"))
    parser, commands = _parser(installed, words)
    given = parser.parse_args(words)
    try:
        if given.action in commands:
            return commands[given.action].run(given)
        program = {"gateway": beside(given).gateway}
        settings = settings_from(RicSettings, given, in_place_of_file=program).gateway
        if given.action == "nodes":
            asyncio.run(_nodes(settings, as_json=given.json))
        else:
            asyncio.run(_watch(settings, given))
    except SettingsError as error:
        complain("ric", error)
        return 2
    except RicError as error:
        complain("ric", error)
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 1
    return 0


async def _nodes(settings: GatewaySettings, *, as_json: bool) -> None:
    link = GrpcLink(settings)
    try:
        nodes = await link.list_nodes()
    finally:
        await link.close()
    if as_json:
        for node in nodes:
            sys.stdout.write(json.dumps(node_to_json(node)) + "\n")
    else:
        show(node_table(nodes))


async def _watch(settings: GatewaySettings, given: argparse.Namespace) -> None:
    oid = given.ran_function
    trigger, actions = _subscription_of(oid, given)
    async with E2GatewayClient(settings) as gateway:
        node_id = given.node
        if node_id is None:
            async with aclosing(gateway.watch_nodes()) as events:
                node_id = (await anext(events)).node.id
        stream = gateway.subscribe(
            node_id, oid, trigger, actions, given.measurement, keep_newest=1024
        )
        left = given.count
        async with aclosing(stream):
            async for indication in stream:
                sys.stdout.write(json.dumps(indication_to_json(indication)) + "\n")
                sys.stdout.flush()
                left -= 1
                if left == 0:
                    return


def _subscription_of(oid: str, given: argparse.Namespace) -> tuple[bytes, list[bytes]]:
    """Event trigger and actions of a periodic report."""
    if oid != TC_V1_OID:
        return event_trigger(given.period_ms), []
    action = {"style": given.style, "bearers": [], "top_flows": 16}
    return (
        tc.encode("event-trigger", {"periodic": {"period_ms": given.period_ms}}),
        [tc.encode("action-definition", action)],
    )


def node_to_json(node: Node) -> dict[str, Any]:
    """A node as plain values; the definitions of its RAN functions in hexadecimal."""
    return {
        "id": node.id,
        "type": node.type.value,
        "mcc": node.mcc,
        "mnc": node.mnc,
        "nb_id": node.nb_id,
        "base_station": node.base_station_id,
        "part_id": node.part_id,
        "ran_functions": [
            {
                "id": function.id,
                "oid": function.oid,
                "name": ran_function_name(function.oid),
                "revision": function.revision,
                "announced_oid": function.announced_oid or function.oid,
                "definition": function.definition.hex(),
            }
            for function in node.ran_functions
        ],
    }


def node_table(nodes: Sequence[Node]) -> str:
    """Nodes as text, a line for each RAN function."""
    rows = [("NODE", "TYPE", "PLMN", "FUNCTION", "ID", "OID", "REVISION", "PART OF")]
    for node in sorted(nodes, key=lambda node: (node.base_station_id, node.id)):
        whole = node.base_station_id
        part_of = whole if whole and whole != node.id else "-"
        plmn = f"{node.mcc:03}-{node.mnc:02}"
        for f in node.ran_functions or (None,):
            function = (
                ("-", "-", "-", "-")
                if f is None
                else (
                    ran_function_name(f.oid),
                    str(f.id),
                    f.announced_oid or f.oid,
                    str(f.revision),
                )
            )
            rows.append((node.id, node.type.value, plmn, *function, part_of))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def indication_to_json(indication: Indication) -> dict[str, Any]:
    """An indication with its message decoded where the service model is known."""
    shown: dict[str, Any] = {
        "node": indication.node_id,
        "ran_function": ran_function_name(indication.oid),
        "sequence": indication.sequence,
        "missed": indication.missed,
        "subscription": indication.subscription,
        "collected_at_us": indication.collected_at_us,
        "received_at_us": indication.received_at_us,
        "handled_at_us": indication.handled_at_us,
    }
    try:
        shown["value"] = _decoded(indication)
    except ServiceModelError as error:
        shown["error"] = str(error)
        shown["message"] = indication.message.hex()
    return shown


def _decoded(indication: Indication) -> Any:
    if indication.kpm is not None:
        report = indication.kpm
        return {
            "period_ms": report.period_ms,
            "ues": [dataclasses.asdict(ue) for ue in report.ues],
            "unsupported": list(report.unsupported),
        }
    if indication.oid == RLC_OID:
        return rlc.to_json(rlc.decode(indication.message))
    if indication.oid == MAC_OID:
        return mac.to_json(mac.decode(indication.message))
    if indication.oid in (TC_V0_OID, TC_V1_OID):
        encoding: tc.Encoding = "v0" if indication.oid == TC_V0_OID else "v1"
        return tc.decode("indication", indication.message, encoding)
    return indication.message.hex()


def _ran_function(text: str) -> str:
    """The OID of a RAN function by its short name or itself."""
    if text in _OIDS:
        return _OIDS[text]
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)+", text):
        raise argparse.ArgumentTypeError(f"{text!r}; expected {', '.join(_OIDS)}, or an OID")
    return text


def _parser(
    installed: Mapping[str, EntryPoint], words: Sequence[str]
) -> tuple[ProgramParser, dict[str, Command]]:
    """The parser, and the command of another distribution if `words` name one."""
    parser = ProgramParser(
        prog="ric",
        description=RicSettings.__doc__,
        example="ric nodes --gateway 127.0.0.1:36421",
        version=VERSION,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    nodes = actions.add_parser(
        "nodes",
        help="print the nodes and their RAN functions",
        example="ric nodes --gateway 127.0.0.1:36421 --json",
    )
    nodes.add_argument("--json", action="store_true", help="one JSON object a line")
    watch = actions.add_parser(
        "watch",
        help="print indications as JSON lines",
        example="ric watch rlc --gateway 127.0.0.1:36421 --period-ms 10 --count 5",
    )
    watch.add_argument(
        "ran_function",
        type=_ran_function,
        help=f"{', '.join(_OIDS)}, or an OID",
        metavar="RAN_FUNCTION",
    )
    watch.add_argument("--node", help="node id (default: the first that connects)")
    watch.add_argument(
        "--period-ms", type=whole_number(1, 0xFFFF_FFFF), default=100, help="default: %(default)s"
    )
    watch.add_argument(
        "--count", type=whole_number(0), default=0, help="stop after so many (0: never)"
    )
    watch.add_argument(
        "--measurement", action="append", default=[], help="KPM measurement name; repeat it"
    )
    watch.add_argument(
        "--style",
        choices=("pipeline_status", "flow_inventory", "events"),
        default="pipeline_status",
        help="report style of TC v1 (default: %(default)s)",
    )
    for sub in (nodes, watch):
        add_settings_arguments(sub, RicSettings)
    commands: dict[str, Command] = {}
    for name, entry in installed.items():
        summary = entry.dist.metadata["Summary"] if entry.dist is not None else entry.value
        sub = actions.add_parser(name, help=summary)
        if words[:1] == [name]:
            commands[name] = entry.load()
            commands[name].add_arguments(sub)
    return parser, commands


if __name__ == "__main__":
    sys.exit(main())
