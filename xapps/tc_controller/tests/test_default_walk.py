"""The files that a report meets on its way to a control, in the default policy."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tc_controller import core
from tc_controller.core.actions import Action, SendControl
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import Indication
from tc_controller.policy_file import load_policy
from tc_controller.policy_source import default_policy
from tc_world import World, bulk, ping

ROOT = Path(__file__).parents[3]
CORE = Path(core.__file__).parent
HEADING = "## A report to a control in the default policy"
#: More than these nobody keeps in mind.
MOST_FILES = 25


class Walked(Controller):
    """Notes the files of the core that run while `on_indication` leads to a control."""

    files: frozenset[str] = frozenset()

    def on_indication(self, now_us: int, indication: Indication) -> list[Action]:
        met: set[str] = set()

        def note(frame: FrameType, event: str, _: Any) -> None:
            path = Path(frame.f_code.co_filename)
            if event == "call" and CORE in path.parents:
                met.add(path.relative_to(CORE).as_posix())

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            actions = super().on_indication(now_us, indication)
        finally:
            sys.setprofile(before)
        if not self.files and any(isinstance(action, SendControl) for action in actions):
            self.files = frozenset(met)
        return actions


def test_a_report_meets_the_files_of_the_page_on_its_way_to_a_control() -> None:
    world = World(controller := Walked(load_policy(default_policy())), bulk(), ping())
    world.run(100)
    page = (ROOT / "docs/walks.md").read_text(encoding="utf-8")
    section = page.split(HEADING)[1].split("\n## ")[0]
    named = re.findall(r"^\| \d+ \| `[^`]*/core/([^`]+)`", section, re.MULTILINE)
    assert sorted(named) == sorted(controller.files)
    assert len(named) <= MOST_FILES
    assert f"meets {len(named)} files of the core" in section
