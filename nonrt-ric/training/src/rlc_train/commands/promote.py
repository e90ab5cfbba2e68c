"""Checks the promotion criteria; writes the model directory if all are met.

The default candidate is the one with the least pinball loss on the held-out series, the LSTM or an
exported baseline. Exit status 1 if no model is promoted.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from ric.flags import folder_to_write
from rlc_model.manifest import TrainingData
from rlc_model.signature import read_signer

from rlc_train import history
from rlc_train.backtest import Losses
from rlc_train.baselines.mix import FALLBACK, MIX, model_of, served_with
from rlc_train.candidate import metrics_of
from rlc_train.errors import TrainError
from rlc_train.gate import Verdict, judge
from rlc_train.rundir import RunDirectory

NAME = "promote"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--run", type=Path, required=True, help="directory of the experiment")
    parser.add_argument("--out", type=folder_to_write, help="model directory; default: RUN/model")
    parser.add_argument("--candidate", help="default: the best")
    parser.add_argument(
        "--sign-key", type=Path, metavar="FILE", help="Ed25519 private key, PEM, to sign it with"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    signer = None if arguments.sign_key is None else read_signer(arguments.sign_key)
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
        against=settings.gate_against,
        horizons_us=settings.gate_horizons_us,
        seed=settings.seed,
        each_radio=settings.gate_each_radio,
    )
    better = better_baselines(splits, kind)
    directory.write(
        "verdict.json",
        {
            "candidate": kind,
            "promoted": verdict.promoted,
            "findings": [asdict(finding) for finding in verdict.findings],
            "worse_radios": [asdict(finding) for finding in verdict.worse_radios],
            "worst": None if verdict.worst is None else asdict(verdict.worst),
            "rows": [asdict(row) for row in verdict.rows],
            "better_but_not_carried": better,
        },
    )
    _print(kind, verdict, better)
    if not verdict.promoted:
        return 1
    out = arguments.out or directory.path / "model"
    held = splits["unseen"]
    baselines = {
        name: losses
        for name, losses in held.items()
        if "@" not in name
        and name not in (kind, served_with(model_of(name)))
        and losses.pinball.shape == held[kind].pinball.shape
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
    history.replace(out, manifest, candidate.graph, signer)
    print(f"promoted: {manifest.name} ({kind}) in {out}")
    return 0


def best(splits: dict[str, dict[str, Losses]], kinds: list[str]) -> str:
    """The candidate with the least loss on the held-out series.

    Raises:
        TrainError: No candidate was evaluated.
    """
    where = splits.get("unseen") or splits.get("test") or {}
    evaluated = [kind for kind in kinds if kind in where]
    if not evaluated:
        raise TrainError(
            "candidates", "no candidate was evaluated; run rlc-train train and evaluate first"
        )
    return min(evaluated, key=lambda kind: relative_loss(where[kind], where.get("persistence")))


def relative_loss(losses: Losses, reference: Losses | None) -> float:
    """Mean over the quantities of the ratio of loss to reference loss."""
    ours = losses.pinball.sum((0, 2))
    if reference is None:
        return float(ours.sum())
    theirs = reference.pinball.sum((0, 2))
    positive = theirs > 0
    return (
        float(np.mean(ours[positive] / theirs[positive])) if positive.any() else float(ours.sum())
    )


def better_baselines(splits: dict[str, dict[str, Losses]], kind: str) -> dict[str, float]:
    """Baselines with less loss on the same origins of the held-out split, and the difference.

    The forecaster serves the best simple forecaster where it is better: it is none of them.
    """
    where = splits.get("unseen") or {}
    found = {}
    for name, losses in where.items():
        if "@" in name or name in (kind, FALLBACK, MIX, served_with(model_of(name))):
            continue
        ours, reference = where.get(f"{kind}@{name}"), where.get(f"persistence@{name}")
        ours = ours or where.get(kind)
        reference = reference or where.get("persistence")
        if ours is None or ours.pinball.shape != losses.pinball.shape:
            continue
        margin = relative_loss(ours, reference) - relative_loss(losses, reference)
        if margin > 0:
            found[name] = margin
    return found


def _print(kind: str, verdict: Verdict, better: dict[str, float]) -> None:
    for finding in verdict.findings:
        mark = "holds" if finding.holds else "FAILS"
        print(f"{mark}  {finding.what}: {finding.found}")
    for finding in verdict.worse_radios:
        print(f"note   {finding.what}: {finding.found}")
    if (worst := verdict.worst) is not None:
        print(
            f"worst  {worst.recording}, radio {worst.radio}, {worst.bearer_kind}, {worst.quantity},"
            f" {worst.horizon_us / 1000:g} ms: {worst.interval()} of the best simple forecaster"
        )
    for name, margin in better.items():
        print(f"note   {name} loses {margin:.3f} less than {kind}, in losses of persistence")
    if not verdict.promoted:
        print(f"rlc-train promote: {kind} is not promoted:", file=sys.stderr)
        print(verdict.refusal(), file=sys.stderr)
