"""Reads a policy file. An error names the place in the file, the value and what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError
from ric.bounded_yaml import YamlError, parse_yaml
from ric.explain import explain_validation_error
from ric.files import UnreadableFile, read_file

from tc_controller.core.policy.schema import Policy

#: A policy is written by hand; a larger file was given by mistake.
MAX_BYTES: Final = 1 << 20
#: Problems named in one error.
MAX_PROBLEMS: Final = 20


class PolicyError(ValueError):
    """A policy that cannot be used.

    ``problems`` holds one line per problem: file, place in the file, value, expectation.
    """

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        shown = problems[:MAX_PROBLEMS]
        rest = len(problems) - len(shown)
        super().__init__("\n".join([*shown, f"and {rest} more"] if rest > 0 else shown))


def load_policy(path: Path) -> Policy:
    """The policy in a YAML (or JSON) file.

    Raises:
        PolicyError: the file cannot be read, is too large, is not YAML, or is no policy.
    """
    source = str(path)
    try:
        text = read_file(path, MAX_BYTES).decode("utf-8")
    except UnreadableFile as error:
        raise PolicyError([f"{source}: {error.problem}"]) from error
    except UnicodeDecodeError as error:
        raise PolicyError([f"{source}: byte {error.start}: not UTF-8 text"]) from error
    return parse_policy(text, source)


def parse_policy(text: str, source: str = "policy") -> Policy:
    """The policy in YAML text; raises `PolicyError`."""
    try:
        document = parse_yaml(text)
    except YamlError as error:
        raise PolicyError([f"{source}: {error}"]) from error
    if document is None:
        raise PolicyError([f"{source}: empty; expected a mapping with `version` and `rules`"])
    if not isinstance(document, dict):
        kind = type(document).__name__
        raise PolicyError([f"{source}: a {kind}; expected a mapping with `version` and `rules`"])
    try:
        return Policy.model_validate(document)
    except ValidationError as error:
        raise PolicyError(explain_validation_error(error, source, Policy, document)) from error
