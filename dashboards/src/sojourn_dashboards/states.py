"""Words and colours of states, and thresholds with one meaning in all dashboards."""

from __future__ import annotations

from typing import Final

from sojourn_dashboards.colours import BAD, BOUND, EXCUSED, GOOD, SERIES, UNKNOWN, WARNING
from sojourn_dashboards.table import Steps, Words

COMPLIANCE: Final[Words] = {
    "met": ("met", GOOD),
    "at_risk": ("at risk", WARNING),
    "violated": ("violated", BAD),
    "infeasible": ("infeasible contract", EXCUSED),
    "radio_stalled": ("radio stalled", EXCUSED),
    "idle": ("idle", UNKNOWN),
    "no_data": ("no data", UNKNOWN),
}
"""States of a bearer against its objective, as the controller's metrics name them."""
BLOCKERS: Final[Words] = {
    "nothing": ("nothing", GOOD),
    "no_tc": ("gNB has no TC function", WARNING),
    "watch_only": ("rule is watch only", BOUND),
    "dry_run": ("dry run: sends nothing", BOUND),
    "observing": ("observes before it acts", GOOD),
    "standby": ("another controller owns the node", GOOD),
    "candidate": ("waits for the node lease", WARNING),
    "duplicate": ("another has this identity", BAD),
    "in_progress": ("transaction in progress", GOOD),
    "not_applied": ("gNB accepts, does not install", BAD),
    "refused": ("gNB refuses pipelines", BAD),
    "base_due": ("base pipeline comes first", GOOD),
    "trial": ("trial runs", GOOD),
    "no_ladder": ("no template left to try", BOUND),
    "cool_down": ("cool-down after a decision", GOOD),
}
"""Why the controller takes no decision for a bearer now."""
FAULTS: Final[Words] = {
    "none": ("no fault", GOOD),
    "silent": ("silent: no indications", BAD),
    "no_status": ("no status of pipelines", BAD),
    "unanswered": ("controls unanswered", BAD),
    "refused": ("refuses all pipelines", BAD),
    "not_applied": ("accepts, does not install", BAD),
    "no_effect": ("packets pass the pipeline by", BAD),
}
"""Faults of a node that no pipeline mends."""
SEVERITIES: Final[Words] = {
    "CRITICAL": ("critical", BAD),
    "MAJOR": ("major", BAD),
    "MINOR": ("minor", WARNING),
    "WARNING": ("warning", WARNING),
}
"""Perceived severities of alarms (TS 28.532)."""
RAN_FUNCTIONS: Final[Words] = {
    "0.0.0.0.0.0.0.0.1.142.0": ("MAC", SERIES[0]),
    "0.0.0.0.0.0.0.0.1.143.0": ("RLC", SERIES[1]),
    "0.0.0.0.0.0.0.0.1.146.0": ("TC v0", SERIES[3]),
    "0.0.0.0.0.0.0.0.1.146.1": ("TC v1", SERIES[2]),
    "1.3.6.1.4.1.53148.1.2.2.2": ("KPM", SERIES[4]),
}
"""RAN functions by OID."""
UP: Final[Words] = {"0": ("down", BAD), "1": ("up", GOOD)}
OWNED: Final[Words] = {"0": ("nobody", BAD), "1": ("owned", GOOD)}
ACTING: Final[Words] = {"0": ("only observes", WARNING), "1": ("acts", GOOD)}
MODEL: Final[Words] = {"0": ("served", GOOD), "1": ("stale", BAD), "2": ("none", BAD)}
CONNECTED: Final[Words] = {"0": ("disconnected", BAD), "1": ("connected", GOOD)}

TO_BOUND: Final[Steps] = ((None, GOOD), (0.8, WARNING), (1.0, BAD))
"""Delay as a share of its bound."""
VIOLATED_SHARE: Final[Steps] = ((None, GOOD), (0.005, WARNING), (0.01, BAD))
"""Share of bearer time in violation; the objective is 1 %."""
MET_SHARE: Final[Steps] = ((None, BAD), (0.99, WARNING), (0.995, GOOD))
"""Share of bearer time that meets the objective."""
SCORE: Final[Steps] = ((None, BAD), (50, WARNING), (80, GOOD))
"""Quality of Outcome, 0 to 100."""
LEASE_LEFT: Final[Steps] = ((None, BAD), (0.2, WARNING), (0.5, GOOD))
"""Seconds until a lease ends; renewed each third of its duration."""
NONE_IS_GOOD: Final[Steps] = ((None, GOOD), (1, BAD))
"""A count that should be 0."""
SOME_IS_A_WARNING: Final[Steps] = ((None, GOOD), (1, WARNING))
"""A count that is better 0."""
