"""``python -m sojourn_demo.picture RUN FILE.svg``: the README's picture from a demo's output."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sojourn_report import save

from sojourn_demo.colours import DECISION, DRAINED, GOODPUT, PING, line
from sojourn_demo.recording import Series, read_recording

STEP_S = 0.5


def draw(run: Path, path: Path) -> None:
    """Draws ping round trip, goodput and drained bytes, with and without control."""
    summary = json.loads((run / "summary.json").read_text())
    end_s = summary["phases"][1]["to_s"]
    controlled, without = (
        read_recording(run / name).until(end_s) for name in ("with_control", "without_control")
    )
    decision, switched_s = summary["decisions"][0], summary["switched_s"]
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    delay, data = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    # A step begins at the change, so that none mixes before and after.
    edges = np.arange(switched_s % STEP_S, controlled.duration_s, STEP_S)
    for recording, solid in ((without, False), (controlled, True)):
        line(delay, recording.rtt_ms, PING, controlled=solid)
        for counter, colour in (
            (recording.drained_mbit, DRAINED),
            (recording.goodput_mbit, GOODPUT),
        ):
            line(data, Series(edges[1:], counter.rates(edges)), colour, controlled=solid)
    delay.set(yscale="log", ylim=(5, 4000), ylabel="ping round trip,\nms", yticks=(10, 100, 1000))
    delay.set_yticklabels(["10", "100", "1000"])
    delay.minorticks_off()
    data.set(xlim=(0, None), ylim=(0, None), ylabel="Mbit/s,\neach 500 ms", xlabel="s")
    for axes in (delay, data):
        axes.axvline(switched_s, color=DECISION, linewidth=1, linestyle=":")
    after_s = switched_s + 0.3
    delay.text(after_s, 180, f"the controller applies {decision['template']}", color=DECISION)
    for text, y in (("dashed: no control", 700), ("solid: Sojourn", 24)):
        delay.text(controlled.duration_s, y, text, color=PING, ha="right")
    for text, y, colour in (
        ("goodput of the download", 22, GOODPUT),
        ("drained by the MAC, all flows", 8, DRAINED),
    ):
        data.text(after_s, y, text, color=colour)
    save(figure, path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
