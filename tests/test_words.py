"""One wording: metrics, live page, dashboards, alerts, runbooks and `explain` say the same."""

from __future__ import annotations

import re
from typing import Any

import yaml
from loop import ROOT
from sojourn_dashboards.names import NAMES
from tc_controller.core.bearer.blocked import Blocker
from tc_controller.core.node.faults import Fault
from tc_controller.core.verify.compliance import Compliance

RUNBOOKS = ROOT / "docs" / "runbooks"


def shown(kind: str) -> dict[str, str]:
    """What dashboards show for the words of a label."""
    return {word: text for word, (text, _) in NAMES["words"][kind].items()}


def alert(name: str) -> dict[str, Any]:
    files = [
        yaml.safe_load(path.read_text()) for path in (ROOT / "dashboards/rules").glob("*.yaml")
    ]
    (found,) = (
        rule
        for file in files
        for group in file["groups"]
        for rule in group["rules"]
        if rule.get("alert") == name
    )
    return dict(found)


def test_dashboards_show_blockers_as_page_and_explain_do() -> None:
    # A bearer without a rule has no objective to violate.
    sentences = {each.word: each.sentence for each in Blocker if each is not Blocker.NO_RULE}
    assert shown("blockers") == {"nothing": "nothing", **sentences}


def test_dashboards_and_the_alert_name_faults_as_page_and_explain_do() -> None:
    assert shown("faults") == {"none": "no fault", **{f.word: f.sentence for f in Fault}}
    text = alert("SojournNodeFault")["annotations"]["description"]
    named = dict(re.findall(r'eq \$labels\.fault "(\w+)" \}\}([^{]+)\{', text))
    # Those two have alerts of their own.
    others = {Fault.SILENT, Fault.GATEWAY_LOST}
    assert named == {f.word: f.sentence for f in Fault if f not in others}


def test_dashboards_show_states_as_the_page_does() -> None:
    script = (ROOT / "xapps/tc_controller/src/tc_controller/live/static/words.js").read_text()
    page = dict(re.findall(r'^  (\w+): \{ word: "([^"]+)"', script, re.MULTILINE))
    assert page.keys() == {state.value for state in Compliance} | {"no_rule"}
    assert shown("compliance") == {s.value: page[s.value].lower() for s in Compliance}


def test_runbooks_have_every_reason_with_its_sentence() -> None:
    for page, reasons in (("SojournBearerViolating", Blocker), ("SojournNodeFault", Fault)):
        text = (RUNBOOKS / f"{page}.md").read_text()
        rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE))
        skipped = {Blocker.NO_RULE}
        assert rows == {each.word: each.sentence for each in reasons if each not in skipped}, page
