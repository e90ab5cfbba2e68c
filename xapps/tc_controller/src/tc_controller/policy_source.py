"""The source of the policy: the built-in one, or a file that is reloaded when it changes."""

from __future__ import annotations

from collections import Counter
from importlib import resources
from pathlib import Path

import structlog
from ric.clock import Clock
from ric.health import Condition

from tc_controller.core.conflicts import former_names
from tc_controller.core.policy.schema import Policy
from tc_controller.policy_file import PolicyError, load_policy
from tc_controller.settings import ControllerSettings

_log = structlog.get_logger()


def default_policy() -> Path:
    """The built-in policy file."""
    installed = Path(str(resources.files("tc_controller"))) / "policies" / "default.yaml"
    if installed.exists():
        return installed
    # An editable installation leaves the files where they are in the repository.
    return Path(__file__).parents[2] / "policies" / "default.yaml"


class PolicySource:
    """Reads the policy, and reloads it when its file changes."""

    def __init__(self, settings: ControllerSettings, clock: Clock) -> None:
        self._path = settings.policy or default_policy()
        self._clock = clock
        self._seen: tuple[int, int, int] | None = None
        #: Reads of a changed file by result: loaded, refused.
        self.reloads: Counter[str] = Counter({"loaded": 0, "refused": 0})
        #: The newest policy was refused; the one before is in force.
        self.refused = False
        #: When the policy in force was read.
        self.loaded_at_us = 0

    def load(self) -> Policy:
        """The policy; raises `PolicyError`. Blocks for as long as the file system does."""
        self._seen = self._stamp()
        policy = load_policy(self._path)
        for each in former_names(policy):
            _log.warning("policy uses a former name", place=each.place, problem=each.problem)
        self.loaded_at_us = self._clock.now_us()
        return policy

    def reload(self) -> Policy | None:
        """The policy if its file changed and is valid; otherwise the old one stays in force.

        Blocks: for use off the event loop, by one thread at a time.
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return None
        try:
            policy = self.load()
        except PolicyError as error:
            self.reloads["refused"] += 1
            self.refused = True
            _log.error("policy not reloaded; the old one stays in force", problems=error.problems)
            return None
        self.reloads["loaded"] += 1
        self.refused = False
        _log.info("policy reloaded", rules=[rule.name for rule in policy.rules])
        return policy

    def condition(self) -> Condition:
        """Condition of readiness: with a policy in force the program is ready."""
        if not self.refused:
            return Condition(True, f"{self._path.name}: used")
        # Not the problem itself: probes need no right, and it quotes the policy.
        why = f"{self._path.name}: newest refused, `tc-controller check` says why"
        return Condition(True, why, degraded=True)

    def _stamp(self) -> tuple[int, int, int] | None:
        """Changes whenever the file does; with the inode, because editors replace files."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
