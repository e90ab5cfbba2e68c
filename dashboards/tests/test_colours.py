"""Colours of states: readable on Grafana's dark theme, distinct with any colour vision."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest
from sojourn_dashboards.names import NAMES

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency" (2009), severity 1.0; on linear RGB.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
GRAPHICS, TEXT = 3.0, 4.5
"""Least contrast of graphics and of text: WCAG 2.2, 1.4.11 and 1.4.3."""
COLOURS = NAMES["colours"]
STATES = [COLOURS[name] for name in ("good", "warning", "bad", "excused", "unknown")]
SERIES = [COLOURS[name] for name in ("teal", "orange", "violet", "pale", "peach")]
PANEL_BACKGROUND = "#181b1f"
"""Background of panels in Grafana's dark theme."""
LEAST_DISTANCE = 15.0
"""Least distance of two colours in CIE 1976 L*a*b*; about 2.3 is just noticeable."""


def linear(colour: str) -> list[float]:
    """Linear RGB of `#rrggbb` (IEC 61966-2-1)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2.2, 1 to 21."""
    low, high = sorted(
        0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other))
    )
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, vision: str) -> tuple[float, float, float]:
    """CIE L*a*b* (D65) of a colour as seen with this vision."""
    rgb = linear(colour)
    r, g, b = (
        min(1.0, max(0.0, sum(m * c for m, c in zip(row, rgb, strict=True))))
        for row in VISION[vision]
    )
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("palette", ["states", "series"])
def test_colours_differ_enough(vision: str, palette: str) -> None:
    listed = STATES if palette == "states" else SERIES
    for one, other in itertools.combinations(listed, 2):
        pairs = zip(lab(one, vision), lab(other, vision), strict=True)
        distance = sum((p - q) ** 2 for p, q in pairs) ** 0.5
        assert distance >= LEAST_DISTANCE, f"{one} and {other}: {distance:.1f}"


def test_colours_contrast_with_the_background_of_panels() -> None:
    graphics = (*STATES, *SERIES, COLOURS["bound"])
    assert [c for c in graphics if contrast(c, PANEL_BACKGROUND) < GRAPHICS] == []
    text = (*STATES[:4], *SERIES)
    assert [c for c in text if contrast(c, PANEL_BACKGROUND) < TEXT] == []


def test_dashboards_use_these_colours_alone() -> None:
    known = {*COLOURS.values()}
    for path in (Path(__file__).parents[1] / "json").glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"#[0-9a-fA-F]{6}\b", text)) <= known, path.name
        named = {step.get("color") for step in _thresholds(json.loads(text))}
        assert named <= known, path.name


def _thresholds(node: object) -> list[dict[str, str]]:
    if isinstance(node, dict):
        steps = node.get("steps", []) if node.get("mode") == "absolute" else []
        return [*steps, *(s for value in node.values() for s in _thresholds(value))]
    if isinstance(node, list):
        return [s for value in node for s in _thresholds(value)]
    return []
