"""Reads a policy file. An error names the place in the file, the value and what was expected."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError
from ric.explain import explain_validation_error

from tc_controller.core.policy import Policy

#: A policy is written by hand; a larger file was given by mistake.
MAX_BYTES: Final = 1 << 20
#: Deeper nesting than any policy has; bounds the recursion of the YAML composer.
MAX_DEPTH: Final = 32
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


class _Unusable(yaml.YAMLError):
    """YAML that is well-formed but not what a policy may use."""


class _Loader(yaml.SafeLoader):
    """Safe YAML; refuses aliases (which can expand exponentially), duplicate keys, deep nesting."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _Unusable(f"line {self._line()}: aliases are not allowed; write it out")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Unusable(f"line {self._line()}: nested more than {MAX_DEPTH} deep")
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _line(self) -> int:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        return 0 if mark is None else int(mark.line) + 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise _Unusable(f"line {key.start_mark.line + 1}: key {name!r} is given twice")
            seen.add(name)
        return super().construct_mapping(node, deep)


def load_policy(path: Path) -> Policy:
    """The policy in a YAML (or JSON) file.

    Raises:
        PolicyError: the file cannot be read, is too large, is not YAML, or is no policy.
    """
    source = path.name
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise PolicyError([f"{source}: {size} bytes; expected at most {MAX_BYTES}"])
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise PolicyError([f"{source}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise PolicyError([f"{source}: byte {error.start}: not UTF-8 text"]) from error
    return parse_policy(text, source)


def parse_policy(text: str, source: str = "policy") -> Policy:
    """The policy in YAML text; raises `PolicyError`."""
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 — a SafeLoader
    except _Unusable as error:
        raise PolicyError([f"{source}: {error}"]) from error
    except yaml.MarkedYAMLError as error:
        place = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise PolicyError([f"{source}: {place}not YAML: {error.problem}"]) from error
    except yaml.YAMLError as error:
        raise PolicyError([f"{source}: not YAML: {error}"]) from error
    except ValueError as error:
        # PyYAML's own constructors, on scalars such as 2020-13-45.
        raise PolicyError([f"{source}: not YAML: {error}"]) from error
    if document is None:
        raise PolicyError([f"{source}: empty; expected a mapping with `version` and `rules`"])
    if not isinstance(document, dict):
        kind = type(document).__name__
        raise PolicyError([f"{source}: a {kind}; expected a mapping with `version` and `rules`"])
    try:
        return Policy.model_validate(document)
    except ValidationError as error:
        raise PolicyError(explain_validation_error(error, source, Policy, document)) from error
