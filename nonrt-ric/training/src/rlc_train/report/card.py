"""The model card, Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sojourn_report import markdown_table

from rlc_train.backtest import Losses, Versus
from rlc_train.candidate import Candidate
from rlc_train.errors import TrainError, write_text
from rlc_train.metrics import in_order
from rlc_train.report import plots
from rlc_train.rundir import RunDirectory
from rlc_train.series import labels
from rlc_train.splits import Part

EXAMPLE_SAMPLES = 600


def write(directory: RunDirectory, kind: str, examples: list[Part], seed: int) -> Path:
    """Writes ``report/model-card.md`` and its plots.

    Raises:
        TrainError: The run was not evaluated.
    """
    splits = directory.losses()
    candidate = directory.candidate(kind)
    out = directory.path / "report"
    out.mkdir(exist_ok=True)
    settings, data = directory.settings(), directory.read("data.json")
    if any("persistence" not in by_name or kind not in by_name for by_name in splits.values()):
        raise TrainError(
            "report", f"needs {kind} and persistence; run rlc-train evaluate with them"
        )
    text = [
        f"# {settings.name} {settings.version} ({kind})",
        "",
        _data_line(data, candidate),
        "",
        *_verdict(directory),
        "## Skill by horizon",
        "",
        "Skill is 1 − loss / loss of persistence with quantiles of its errors (pinball loss).",
        "95 % intervals by bootstrap over blocks of one second.",
        "",
    ]
    for split, by_name in splits.items():
        figure = plots.skill_by_horizon(by_name, candidate.layout, split)
        text += [f"![{split}]({plots.save(figure, out, f'skill-{split}')})", ""]
        text += [*_baselines(by_name, kind, candidate, seed), ""]
    text += ["## Skill by scenario", ""]
    for split, by_name in splits.items():
        text += [*_scenarios(by_name, kind, candidate, split), ""]
    text += ["## Reliability", ""]
    for split, by_name in splits.items():
        figure = plots.reliability(by_name, kind, candidate.layout, split)
        text += [f"![{split}]({plots.save(figure, out, f'reliability-{split}')})", ""]
    text += _examples(candidate, examples, out)
    if kind == settings.kind and (directory.path / "curve.json").exists():
        curve = directory.read("curve.json")
        figure = plots.learning_curve(curve["curve"], curve["best_epoch"])
        text += [
            "## Learning curve",
            "",
            f"![curve]({plots.save(figure, out, 'curve')})",
            "",
            f"{len(curve['curve'])} epochs in {curve['seconds']:.0f} s on {curve['device']}.",
            "",
        ]
    text += [*_timing(candidate), ""]
    path = out / "model-card.md"
    write_text(path, "\n".join(text))
    return path


def _data_line(data: dict[str, Any], candidate: Candidate) -> str:
    layout, samples = candidate.layout, data["samples"]
    return (
        f"Forecasts {', '.join(q.value for q in layout.quantities)} at {layout.ends_ms} ahead"
        f" (T_m {data['t_m_us']:.1f} µs,"
        f" measured). Data {data['sha256'][:12]}…: {data['series']} bearers; samples of training"
        f" {samples['train']}, validation {samples['validation']}, test {samples['test']}, unseen"
        f" cells and patterns {samples['unseen']}."
    )


def _verdict(directory: RunDirectory) -> list[str]:
    if not (directory.path / "verdict.json").exists():
        return ["Not checked for promotion yet.", ""]
    verdict = directory.read("verdict.json")
    lines = [
        f"**{'Promoted' if verdict['promoted'] else 'Refused'}**: {verdict['candidate']}.",
        "",
    ]
    rows = [
        (finding["what"], str(finding["found"]), "yes" if finding["holds"] else "**no**")
        for finding in verdict["findings"]
    ]
    return [*lines, *markdown_table(("condition", "found", "holds"), rows), ""]


def _baselines(by_name: dict[str, Losses], kind: str, candidate: Candidate, seed: int) -> list[str]:
    layout = candidate.layout
    rows = []
    reference = by_name["persistence"]
    for name, losses in by_name.items():
        if "@" in name:
            continue
        same_origins = by_name.get(f"persistence@{name}", reference)
        cells = []
        for q in range(len(layout.quantities)):
            skill = Versus(losses, same_origins).skill(q, None, seed)
            cells.append(
                "–"
                if np.isnan(skill.value)
                else f"{skill.value:+.3f} ({skill.low:+.3f}…{skill.high:+.3f})"
            )
        few = f" ({losses.count.max(initial=0) and int(losses.count.sum(0).max())} origins)"
        note = few if f"persistence@{name}" in by_name else ""
        bold = "**" if name == kind else ""
        rows.append((f"{bold}{name}{bold}{note}", *cells))
    return markdown_table(("forecaster", *(q.value for q in layout.quantities)), rows)


def _scenarios(
    by_name: dict[str, Losses], kind: str, candidate: Candidate, split: str
) -> list[str]:
    layout = candidate.layout
    rows = []
    for scenario in sorted(set(by_name[kind].scenario)):
        versus = Versus(*(by_name[each].of(scenario=scenario) for each in (kind, "persistence")))
        ours, theirs = versus.model.pinball.sum((0, 2)), versus.reference.pinball.sum((0, 2))
        cells = [f"{1 - a / b:+.3f}" if b > 0 else "–" for a, b in zip(ours, theirs, strict=True)]
        rows.append((scenario, *cells))
    return markdown_table((f"scenario ({split})", *(q.value for q in layout.quantities)), rows)


def _examples(candidate: Candidate, examples: list[Part], out: Path) -> list[str]:
    layout = candidate.layout
    text = ["## Examples", "", "The first point of the forecasts, at its target time."]
    served = candidate.forecaster()
    for number, part in enumerate(examples):
        origins = _busiest_rows(part, layout.columns[0])
        forecast = in_order(served.predict(part, origins))
        actual = labels(part.series, layout, origins, part.stop)
        at_ms = (part.series.at_us[origins] - part.series.at_us[0] + layout.points_us[0]) / 1000
        quantity = layout.quantities[0].value
        figure = plots.example(
            at_ms, actual[:, 0, 0], forecast[:, 0, 0], part.series.name, quantity
        )
        text += ["", f"![example {number}]({plots.save(figure, out, f'example-{number}')})"]
    return [*text, ""]


def _busiest_rows(part: Part, column: int) -> NDArray[np.intp]:
    """The section of a part with the largest changes of a feature."""
    levels = part.series.features[part.start : part.stop, column]
    starts = range(0, max(1, len(levels) - EXAMPLE_SAMPLES), EXAMPLE_SAMPLES // 2)
    first = max(starts, key=lambda start: float(levels[start : start + EXAMPLE_SAMPLES].std()))
    return part.start + np.arange(first, min(first + EXAMPLE_SAMPLES, len(levels)), dtype=np.intp)


def _timing(candidate: Candidate) -> list[str]:
    lines = [
        "## Timing",
        "",
        "One step in ONNX Runtime, one thread, on the machine that exported.",
        "",
    ]
    rows = [
        (
            str(timing.batch),
            *(f"{us:.1f}" for us in (timing.median_us, timing.p99_us)),
            f"{timing.median_us / timing.batch:.2f}",
        )
        for timing in candidate.timings
    ]
    heads = ("bearers in a batch", "median, µs", "99 %, µs", "per bearer, µs")
    lines += markdown_table(heads, rows)
    c = candidate.comparison
    export = f"Export: difference {c.forecast:.1e} from the model over {c.steps} steps"
    return [*lines, "", f"{export}; {len(candidate.graph)} bytes."]
