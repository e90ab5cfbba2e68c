"""``python -m sojourn_demo.picture RUN FILE.svg``: the README's picture from a demo's output."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn_demo.recording import BIN_S, read_recording
from sojourn_demo.report import BLUE, GREY

RED = "#b03050"


def draw(run: Path, path: Path) -> None:
    """Draws ping round trip and bytes downloaded, with and without control."""
    controlled, without = (
        read_recording(run / "with_control"),
        read_recording(run / "without_control"),
    )
    decision = json.loads((run / "summary.json").read_text())["decisions"][0]
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    delay, data = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for recording, colour, label in ((without, GREY, "no control"), (controlled, BLUE, "Sojourn")):
        delay.plot(recording.rtt_ms.at_s, recording.rtt_ms.value, color=colour, label=label)
        downloaded_mb = np.cumsum(recording.delivered_mbps.value) * BIN_S / 8
        data.plot(recording.delivered_mbps.at_s, downloaded_mb, color=colour)
    delay.set(yscale="log", ylim=(5, 4000), ylabel="ping round trip,\nms", yticks=(10, 100, 1000))
    delay.set_yticklabels(["10", "100", "1000"])
    delay.minorticks_off()
    data.set(ylim=(0, None), ylabel="downloaded,\nMB", xlabel="s")
    for axes in (delay, data):
        _frame(axes)
        axes.axvline(decision["at_s"], color=RED, linewidth=1, linestyle=":")
    delay.text(
        decision["at_s"] + 0.3,
        600,
        f"the controller applies {decision['template']}",
        color=RED,
    )
    delay.legend(loc="center right", bbox_to_anchor=(1, 0.55), frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _frame(axes: Axes) -> None:
    axes.set_xlim(0, None)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
