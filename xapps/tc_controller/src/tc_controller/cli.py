"""`tc-controller`: run the controller, check a policy, explain a decision."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, Protocol

from ric.errors import SettingsError
from ric.lifecycle import XApp, run_xapp
from ric.security import check_files
from ric.settings import ProgramParser, add_settings_arguments, settings_from
from ric.state_file import StateError, check_state_path
from ric.terminal import complain, show
from ric.version import VERSION

from tc_controller import explain_command, mode_command
from tc_controller.app import ControllerApp
from tc_controller.core.act.node_default import why_not_in_advance
from tc_controller.core.conflicts import Severity, findings
from tc_controller.core.policy.compile import CLASSES
from tc_controller.core.policy.rung import Rung, in_force
from tc_controller.core.policy.schema import Policy, Rule, json_schema
from tc_controller.policy_file import PolicyError, load_policy
from tc_controller.policy_source import default_policy
from tc_controller.settings import ControllerSettings
from tc_controller.states import FORMATS

_ACTIONS = ("run", "mode", "check", "schema", "explain", "states")
ACTIONS: Final = "tc_controller.actions"
"""Entry-point group of actions of other distributions: each names a module, an `Action`."""
_ELSEWHERE: Final = {"evaluate": "sojourn-tc-evaluate"}
"""Actions of other distributions of ours."""


class Action(Protocol):
    """An action of another distribution."""

    #: Line in the list of actions.
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, given: argparse.Namespace) -> int:
        """Run; returns the exit status."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit status. `run` is the default action."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    installed = {entry.name: entry for entry in entry_points(group=ACTIONS)}
    if given[:1] and given[0] in _ELSEWHERE.keys() - installed.keys():
        return _fail(f"{given[0]}: not installed; install {_ELSEWHERE[given[0]]}")
    if not given or given[0] not in (*_ACTIONS, *installed, "-h", "--help", "--version"):
        given.insert(0, "run")
    parser, actions = _parser()
    # What an action imports is loaded only where it is asked for or listed.
    others: dict[str, Action] = {
        name: entry.load()
        for name, entry in installed.items()
        if given[0] in (name, "-h", "--help")
    }
    for name, action in others.items():
        action.add_arguments(actions.add_parser(name, help=action.HELP))
    handlers: dict[str, Callable[[argparse.Namespace], int]] = {
        "run": _run,
        "mode": _mode,
        "check": _check,
        "schema": _schema,
        "explain": _explain,
        "states": _states,
        **{name: action.run for name, action in others.items()},
    }
    options = parser.parse_args(given)
    try:
        return handlers[options.action](options)
    except BrokenPipeError:
        return 1


def _run(options: argparse.Namespace) -> int:
    try:
        settings = settings_from(ControllerSettings, options)
        # Fail before anything is started, with messages and without a traceback.
        check_files(settings)
        if settings.state is not None:
            check_state_path(settings.state)
        load_policy(settings.policy or default_policy())
    except (SettingsError, PolicyError, StateError) as error:
        return _wrong(str(error))

    async def run(xapp: XApp[ControllerSettings]) -> None:
        await ControllerApp(xapp).main()

    return run_xapp("tc_controller", settings, run)


def _mode(options: argparse.Namespace) -> int:
    try:
        return mode_command.run(options)
    except SettingsError as error:
        return _wrong(str(error))


def _schema(_: argparse.Namespace) -> int:
    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")
    return 0


def _states(options: argparse.Namespace) -> int:
    sys.stdout.write(FORMATS[options.format]() + "\n")
    return 0


def _check(options: argparse.Namespace) -> int:
    try:
        policy = load_policy(options.policy)
    except PolicyError as error:
        return _wrong(str(error))
    for rule in policy.rules:
        show(f"{rule.name}: within {rule.objective.bound_ms:g} ms\n")
        if not rule.base and not rule.ladder:
            show("  watch only\n")
        for number, each in enumerate(rule.classes, 1):
            show(f"  class {number}. {each.name}: {each}\n")
        if rule.objective.guaranteed_mbps is not None:
            guaranteed = f"{rule.objective.guaranteed_mbps:g} Mbit/s"
            show(f"  guaranteed {guaranteed}: judged; the MAC divides the radio\n")
        for kind, rungs in (("base", rule.compiled_base()), ("ladder", rule.ladder)):
            for number, rung in enumerate(rungs, 1):
                show(f"  {kind} {number}. {rung.template}: {_parameters(rung)}\n")
        if rule.base:
            show(f"  without the controller: {_without_controller(rule)}\n")
            show(f"  bearers to come: {_bearers_to_come(policy, rule)}\n")
        if rule.trial is not None:
            against = rule.trial.against
            show(f"  trial for {rule.trial.extent()}\n")
            show(f"  against {against.template}: {_parameters(against)}\n")
    found = findings(policy)
    for finding in found:
        complain(str(options.policy), finding)
    return int(any(finding.severity is Severity.ERROR for finding in found))


def _without_controller(rule: Rule) -> str:
    """What remains of the base when the controller is gone."""
    ends = f"ends after {rule.enforce.lease_ms} ms"
    if rule.enforce.keep_base_without_controller:
        return f"the base stays on nodes that announce as_safe, elsewhere it {ends}"
    return f"the base {ends}"


def _bearers_to_come(policy: Policy, rule: Rule) -> str:
    """Whether nodes are given the base in advance."""
    if rule.enforce.dry_run:
        return "the base is not installed in a dry run"
    obstacle = why_not_in_advance(policy, rule)
    if obstacle is None:
        return "start with the base on nodes that announce node_default"
    return f"get the base once they are reported: {obstacle}"


def _parameters(rung: Rung) -> str:
    """The parameters of the template with their values in force."""
    shown = [
        f"{path} {_shown(value)}" + ("" if value == default else f" (default {_shown(default)})")
        for path, value, default in in_force(rung)
        # Listed before, as the policy has them.
        if (rung.template, path) != (CLASSES, "classes")
    ]
    return ", ".join(shown) or "no parameters"


def _shown(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def _explain(options: argparse.Namespace) -> int:
    try:
        return explain_command.run(options)
    except SettingsError as error:
        return _wrong(str(error))


def _fail(message: str) -> int:
    complain("tc-controller", message)
    return 1


def _wrong(message: str) -> int:
    """Complains about what was given; returns the exit status of every program for that."""
    _fail(message)
    return 2


def _parser() -> tuple[ProgramParser, argparse._SubParsersAction[ProgramParser]]:
    parser = ProgramParser(
        prog="tc-controller",
        description=ControllerSettings.__doc__,
        example="tc-controller run --help",
        version=VERSION,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser(
        "run",
        help="run the controller (the default action)",
        description=ControllerSettings.__doc__,
        example="tc-controller --gateway 127.0.0.1:36421 --decision-log decisions.jsonl",
    )
    add_settings_arguments(run, ControllerSettings)
    mode = actions.add_parser(
        "mode",
        help="show or set the mode of running controllers: off, observe or act",
        description="Show or set the mode of the controller of these settings and of its peers.",
        example="tc-controller mode off",
    )
    mode_command.add_arguments(mode)
    add_settings_arguments(mode, ControllerSettings)
    check = actions.add_parser(
        "check", help="check a policy file", example="tc-controller check policy.yaml"
    )
    check.add_argument("policy", type=Path)
    actions.add_parser("schema", help="print the JSON schema of a policy file")
    explain_parser = actions.add_parser(
        "explain",
        help="explain a decision, a trial or the state of nodes from decision logs",
        description="Explain a decision, a trial or the state of nodes: from the decision logs of "
        "the controller of these settings and of its peers, or from a file.",
        example="tc-controller explain --list",
        # `--state` is a setting as well.
        conflict_handler="resolve",
    )
    explain_command.add_arguments(
        explain_parser, lambda: add_settings_arguments(explain_parser, ControllerSettings)
    )
    states = actions.add_parser(
        "states",
        help="print the life of a bearer: states, events, transitions",
        example="tc-controller states --format dot | dot -Tsvg > states.svg",
    )
    states.add_argument(
        "--format", choices=list(FORMATS), default="table", help="(default: %(default)s)"
    )
    return parser, actions


if __name__ == "__main__":
    sys.exit(main())
