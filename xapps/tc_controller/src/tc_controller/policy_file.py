"""Reads a policy file. Whatever is wrong with it is told with its place, value and expectation."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tc_controller.policy import Policy

#: A policy is written by hand; what is larger than this is another file given by mistake.
MAX_BYTES = 1 << 20
#: Deeper nesting than any policy has; bounds the recursion of the YAML composer.
MAX_DEPTH = 32
#: Problems named in one error.
MAX_PROBLEMS = 20


class PolicyError(ValueError):
    """A policy that cannot be used.

    ``source`` is the file, ``problems`` holds one sentence per problem, each beginning with the
    path of the offending key.
    """

    def __init__(self, source: str, problems: list[str]) -> None:
        self.source = source
        self.problems = problems
        shown = problems[:MAX_PROBLEMS]
        rest = len(problems) - len(shown)
        lines = [f"{source}: {problem}" for problem in shown]
        if rest > 0:
            lines.append(f"{source}: and {rest} more")
        super().__init__("\n".join(lines))


class _Unusable(yaml.YAMLError):
    """YAML that is well-formed but not what a policy may use."""


class _Loader(yaml.SafeLoader):
    """Safe YAML without aliases (they can blow up), duplicate keys and bottomless nesting."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise _Unusable(f"line {mark.line + 1}: aliases are not allowed; write it out")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            mark = self.peek_event().start_mark
            raise _Unusable(f"line {mark.line + 1}: nested more than {MAX_DEPTH} deep")
        node: yaml.Node | None = super().compose_node(parent, index)  # type: ignore[no-untyped-call]
        self._depth -= 1
        return node

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
            raise PolicyError(source, [f"{size} bytes; expected at most {MAX_BYTES}"])
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise PolicyError(source, [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise PolicyError(source, [f"byte {error.start}: not UTF-8 text"]) from error
    return parse_policy(text, source)


def parse_policy(text: str, source: str = "policy") -> Policy:
    """The policy in YAML text; raises `PolicyError`."""
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 — a SafeLoader
    except _Unusable as error:
        raise PolicyError(source, [str(error)]) from error
    except yaml.MarkedYAMLError as error:
        place = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise PolicyError(source, [f"{place}not YAML: {error.problem}"]) from error
    except yaml.YAMLError as error:
        raise PolicyError(source, [f"not YAML: {error}"]) from error
    except ValueError as error:
        # PyYAML's own constructors, on scalars such as 2020-13-45.
        raise PolicyError(source, [f"not YAML: {error}"]) from error
    if document is None:
        raise PolicyError(source, ["empty; expected a mapping with `version` and `rules`"])
    if not isinstance(document, dict):
        kind = type(document).__name__
        raise PolicyError(source, [f"a {kind}; expected a mapping with `version` and `rules`"])
    try:
        return Policy.model_validate(document)
    except ValidationError as error:
        raise PolicyError(source, [_sentence(item) for item in error.errors()]) from error


def _sentence(item: Any) -> str:
    """One pydantic error as ``path: value; expectation``."""
    path = _path(item["loc"])
    kind, message = item["type"], item["msg"]
    if kind == "missing":
        return f"{path}: missing; expected a value"
    if kind == "extra_forbidden":
        return f"{path}: unknown key"
    if kind == "value_error":
        detail = message.removeprefix("Value error, ")
        return f"{path}: {detail}" if path else detail
    if kind == "union_tag_invalid":
        return (
            f"{path}.template: {item['ctx']['tag']!r}; expected one of "
            f"{item['ctx']['expected_tags']}"
        )
    if kind == "union_tag_not_found":
        return f"{path}.template: missing; expected the name of a template"
    shown = repr(item["input"])
    if len(shown) > 60:
        shown = shown[:57] + "..."
    expectation = message[0].lower() + message[1:]
    return f"{path}: {shown}; {expectation}".replace("; input should be", "; expected")


_TEMPLATES = {"bdp_only", "fq_codel", "segregate_greedy", "flow_slicing", "l4s"}


def _path(location: tuple[int | str, ...]) -> str:
    """``rules[0].ladder[1].codel.target_us``: the discriminator tag is not a key of the file."""
    path = ""
    for position, step in enumerate(location):
        if isinstance(step, int):
            path += f"[{step}]"
        elif step in _TEMPLATES and position and isinstance(location[position - 1], int):
            continue
        else:
            path += f".{step}" if path else step
    return path
