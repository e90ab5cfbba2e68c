"""Colours, each with one meaning in all dashboards, for Grafana's dark theme.

States use blue, yellow, vermilion, purple and grey: told apart by readers with protanopia,
deuteranopia and tritanopia, after Okabe and Ito, "Color Universal Design" (2008). A state is also
written in words wherever its colour appears.
"""

from __future__ import annotations

from typing import Final

GOOD: Final = "#56b4e9"
"""Objective met, service up."""
WARNING: Final = "#f0e442"
"""Needs attention, service not affected yet."""
BAD: Final = "#e8602c"
"""Objective violated, service down."""
EXCUSED: Final = "#cc79a7"
"""No pipeline helps: radio outage, infeasible contract."""
UNKNOWN: Final = "#686d72"
"""No data, idle, or too few samples."""

BOUND: Final = "#d8d9da"
"""A bound or an objective; drawn dashed."""
SERIES: Final = ("#1f9e89", "#e69f00", "#8270ee", "#b8dce8", "#ffd9a0")
"""Series without a state, by order: teal, orange, violet, pale blue, peach."""
