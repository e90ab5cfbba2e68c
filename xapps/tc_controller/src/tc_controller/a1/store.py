"""Policy instances: kept in a file, compiled to targets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from ric.errors import RicError
from ric.explain import explain_validation_error
from ric.state_file import StateError, claim, read_document, require_version, write_document

from tc_controller.a1.compile import Status, compiled
from tc_controller.a1.identities import Identities
from tc_controller.a1.types import TYPES, Statement, corrected
from tc_controller.core.policy.schema import Policy
from tc_controller.core.policy.targets import Target, TargetedPolicy, with_targets

MAX_INSTANCES: Final = 1000
_VERSION: Final = 1


class StatementError(RicError, ValueError):
    """A policy document that does not fit its type; one line per problem."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A policy instance as it was put."""

    type_id: str
    body: dict[str, Any]
    statement: Statement
    notify: str | None = None


def instance(type_id: str, body: Any, notify: str | None = None) -> Instance:
    """Check a document against its type; raises `StatementError`."""
    model = TYPES[type_id]
    try:
        clean = corrected(body)
        statement = model.model_validate(clean)
    except ValidationError as error:
        lines = explain_validation_error(error, "policy", model)
        raise StatementError("\n".join(lines[:20])) from None
    except ValueError as error:
        raise StatementError(f"policy: {error}") from None
    return Instance(type_id, body, statement, notify)


class InstanceStore:
    """All instances. `replace` writes the file before it changes them.

    Raises `StateError` when the file cannot be used, or another controller keeps it: policies of an
    operator are not dropped.
    """

    def __init__(
        self,
        path: Path | None,
        identities: Identities,
        off_loop: Callable[[Callable[[], None]], Awaitable[None]],
    ) -> None:
        self._path = path
        self._claim = None if path is None else claim(path)
        self._identities = identities
        self._off_loop = off_loop
        self.instances: dict[str, Instance] = {}
        self.results: dict[str, Target | Status] = {}
        document = None if path is None else read_document(path)
        if document is not None:
            try:
                require_version(document, _VERSION)
                for policy_id, item in document["instances"].items():
                    self.instances[policy_id] = instance(
                        item["type"], item["policy"], item["notify"]
                    )
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise StateError(f"{path}: {error!r}; expected A1 policies") from None

    async def replace(self, policy_id: str, new: Instance | None) -> None:
        """Put or, with `None`, delete an instance; raises `OSError` if it cannot be kept."""
        instances = dict(self.instances)
        if new is None:
            instances.pop(policy_id, None)
        else:
            instances[policy_id] = new
        if self._path is not None:
            items = {
                name: {"type": each.type_id, "policy": each.body, "notify": each.notify}
                for name, each in instances.items()
            }
            document = {"version": _VERSION, "instances": items}
            await self._off_loop(partial(write_document, self._path, document))
        self.instances = instances

    def apply_to(self, policy: Policy) -> TargetedPolicy:
        """The policy of the file with the instances before its rules."""
        self.results = {
            name: compiled(name, each.statement, policy, self._identities)
            for name, each in self.instances.items()
        }
        return with_targets(
            policy, tuple(each for each in self.results.values() if isinstance(each, Target))
        )
