"""Puts the model through the gate; writes the model directory if it passes, says why if not.

The candidate that loses least to the pinball loss on what was held out is judged, be it the LSTM or
a baseline that the contract carries. Exit status 1 when nothing is promoted.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rlc_model import write_contract
from rlc_model.manifest import TrainingData

from rlc_train.backtest import Losses
from rlc_train.candidate import Candidate, metrics_of
from rlc_train.errors import TrainError
from rlc_train.gate import Verdict, judge
from rlc_train.rundir import RunDirectory

NAME = "promote"
AGAINST = ("persistence", "adaptive-persistence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--run", type=Path, required=True, help="directory of the experiment")
    parser.add_argument("--out", type=Path, help="model directory; default: RUN/model")
    parser.add_argument("--candidate", help="judge this one; default: the best")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    directory = RunDirectory(arguments.run)
    settings, data = directory.settings(), directory.read("data.json")
    splits = directory.losses()
    kind = arguments.candidate or best(splits, directory.candidates())
    candidate = directory.candidate(kind)
    verdict = judge(
        splits,
        kind,
        candidate.layout,
        candidate.comparison,
        against=AGAINST,
        horizons_us=settings.gate_horizons_us,
        seed=settings.seed,
    )
    better = ahead_of(splits, kind, candidate)
    directory.write(
        "verdict.json",
        {
            "candidate": kind,
            "promoted": verdict.promoted,
            "findings": [asdict(finding) for finding in verdict.findings],
            "better_but_not_carried": better,
        },
    )
    _say(kind, verdict, better)
    if not verdict.promoted:
        return 1
    out = arguments.out or directory.path / "model"
    held = splits["unseen"]
    baselines = {
        n: x for n, x in held.items() if n != kind and x.pinball.shape == held[kind].pinball.shape
    }
    training = TrainingData(
        description=Path(data["path"]).name,
        sha256=data["sha256"],
        context_period_us=settings.context_us,
    )
    manifest = candidate.manifest(
        settings.name,
        settings.version,
        training,
        metrics_of(held[kind], baselines, candidate.layout),
        f"{kind}, {data['samples']['train']} samples of training",
    )
    write_contract(out, manifest, candidate.graph)
    print(f"promoted: {manifest.name} ({kind}) in {out}")
    return 0


def best(splits: dict[str, dict[str, Losses]], kinds: list[str]) -> str:
    """The candidate with the least loss where it counts most: on what was held out.

    Raises:
        TrainError: There is no candidate with a back-test.
    """
    where = splits.get("unseen") or splits.get("test") or {}
    judged = [kind for kind in kinds if kind in where]
    if not judged:
        raise TrainError("candidates", "none was evaluated; run rlc-train train and evaluate first")
    return min(judged, key=lambda kind: relative_loss(where[kind], where.get("persistence")))


def relative_loss(losses: Losses, reference: Losses | None) -> float:
    """Mean over the quantities of the loss over the reference's; quantities count alike."""
    ours = losses.pinball.sum((0, 2))
    if reference is None:
        return float(ours.sum())
    theirs = reference.pinball.sum((0, 2))
    there = theirs > 0
    return float(np.mean(ours[there] / theirs[there])) if there.any() else float(ours.sum())


def ahead_of(
    splits: dict[str, dict[str, Losses]], kind: str, candidate: Candidate
) -> dict[str, float]:
    """Baselines that beat the candidate on the same origins of the held-out split, by how much."""
    del candidate
    where = splits.get("unseen") or {}
    found = {}
    for name, losses in where.items():
        if "@" in name or name == kind:
            continue
        ours, beside = where.get(f"{kind}@{name}"), where.get(f"persistence@{name}")
        ours = ours or where.get(kind)
        beside = beside or where.get("persistence")
        if ours is None or ours.pinball.shape != losses.pinball.shape:
            continue
        margin = relative_loss(ours, beside) - relative_loss(losses, beside)
        if margin > 0:
            found[name] = margin
    return found


def _say(kind: str, verdict: Verdict, better: dict[str, float]) -> None:
    for finding in verdict.findings:
        mark = "holds" if finding.holds else "FAILS"
        print(f"{mark}  {finding.what}: {finding.found}")
    for name, margin in better.items():
        print(f"note   {name} loses {margin:.3f} less than {kind}, in losses of persistence")
    if not verdict.promoted:
        print(f"rlc-train promote: {kind} is not promoted:", file=sys.stderr)
        print(verdict.refusal(), file=sys.stderr)
