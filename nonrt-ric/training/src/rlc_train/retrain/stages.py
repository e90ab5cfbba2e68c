"""The stages of a round. Each may be repeated: it continues what a killed one left."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from types import ModuleType
from typing import Final

from ric.errors import RicError
from rlc_dataset import Dataset
from rlc_model import read_contract
from rlc_model.contract import CHECKSUMS
from rlc_model.signature import read_signer

from rlc_train import history, pipeline
from rlc_train.baselines.mix import FALLBACK, MIX
from rlc_train.collect.command import record
from rlc_train.collect.session import RecordingOptions
from rlc_train.commands import evaluate, promote, train
from rlc_train.errors import TrainError
from rlc_train.judging.model import JudgedModel
from rlc_train.retrain import newest
from rlc_train.retrain.round import Round, StageFunction, partitions
from rlc_train.retrain.state import SEEN, Result, Stage
from rlc_train.rundir import RunDirectory
from rlc_train.tracking import publish

HELD_OUT: Final = "held-out"
"""Cell of the recording that nothing is trained on."""
JUDGED: Final = ("persistence", FALLBACK, MIX, "linear-quantile")
"""Baselines unless the settings name some: those that the gate compares with, and the one that may
be promoted. SARIMA and LightGBM take most of a back-test of all."""
SHORTEST_S: Final = 1.0
"""A rest of a recording below this, or below a hundredth of it, is not worth another segment."""


def collect(this: Round) -> Result | None:
    """Records what is left of each recording."""
    for wanted in this.options.recordings:
        shortest_s = max(SHORTEST_S, wanted.duration_s / 100)
        left_s = wanted.duration_s - _recorded_s(this, wanted)
        if left_s < shortest_s:
            continue
        this.say(f"collect: {left_s:.0f} s of cell {wanted.cell or '(the node)'}")
        try:
            asyncio.run(record(this.options.gateway, replace(wanted, duration_s=left_s)))
        except RicError as error:
            raise TrainError(str(error)) from error
        if (rest_s := wanted.duration_s - _recorded_s(this, wanted)) >= shortest_s:
            raise TrainError("collect", f"was stopped {rest_s:.0f} s before its end")
    present = partitions(this.options.data)
    # What comes later is of the next round.
    this.work.write(this.state, SEEN, present)
    new = set(present) - set(this.state.known)
    this.say(f"collect: {len(new)} new runs in {this.options.data}")
    return None if new else "no new data"


def _recorded_s(this: Round, wanted: RecordingOptions) -> float:
    """What the round has recorded of the cell: runs of a segment each, of all bearers."""
    if not partitions(this.options.data):
        return 0.0
    total = 0
    for run in Dataset.open(this.options.data):
        one = run.provenance
        held = one.cell == wanted.cell or (not wanted.cell and one.cell != HELD_OUT)
        if one.source == "e2" and held and one.partition not in this.state.known:
            times = run.table(allow_gaps=True, verify=False).column("time_us").to_numpy()
            total += int(times.max() - times.min()) + one.period_us
    return total / 1e6


def drift(this: Round) -> Result | None:
    """Judges the served model on the newest data; ends the round if it has not drifted."""
    served = this.served()
    if served is None:
        return None
    settings = this.options.settings
    promoted = newest.promoted_ratios(read_contract(this.options.model).manifest)
    found = newest.drift_of(served, promoted, this.newest, settings.origins, settings.seed)
    this.work.write(
        this.state, "drift.json", [asdict(one) | {"drifted": one.drifted} for one in found]
    )
    for one in found:
        before = "unknown" if one.promoted is None else f"{one.promoted:.3f}"
        this.say(
            f"drift: {one.quantity}: {one.ratio:.3f} of the loss of {FALLBACK},"
            f" {one.low:.3f}…{one.high:.3f}; {before} when promoted"
            f"{': drifted' if one.drifted else ''}"
        )
    if this.options.always or not found or any(one.drifted for one in found):
        return None
    # The forecaster's metric of the model's age counts from here: it was confirmed.
    os.utime(this.options.model / CHECKSUMS)
    return "no drift"


def fit(this: Round) -> Result | None:
    """Trains; continues from the last epoch."""
    this.say(f"train: {this.run}")
    given = this.options.arguments
    words = [f"--data={this.options.data}", f"--run={this.run}", f"--preset={given.preset}"]
    if given.settings is not None:
        words.append(f"--settings={given.settings}")
    _command(train, *words)
    return None


def judge(this: Round) -> Result | None:
    """Back-tests the model and the baselines."""
    words = [f"--run={this.run}"]
    if "baselines" not in this.options.settings.model_fields_set:
        words.append(f"--baselines={','.join(JUDGED)}")
    _command(evaluate, *words)
    return None


def gate(this: Round) -> Result | None:
    """Applies the gate; writes the model into the run directory if it passes."""
    shutil.rmtree(this.run / "model", ignore_errors=True)
    return "refused" if _command(promote, f"--run={this.run}") else None


def _command(module: ModuleType, *words: str) -> int:
    """Runs a command of rlc-train; returns its exit status."""
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return int(module.run(parser.parse_args(words)))


def compare(this: Round) -> Result | None:
    """Refuses a model that is worse than the served one on the newest data."""
    served = this.served()
    if served is None:
        return None
    settings = this.options.settings
    layout = settings.layout(RunDirectory(this.run).read("data.json")["t_m_us"])
    parts = pipeline.split_corpus(this.series, settings, layout)
    names = {one.name for one in this.newest}
    held = [part for part in (*parts.test, *parts.unseen) if part.series.name in names]
    found = newest.compare(
        JudgedModel.load(this.run / "model"),
        served,
        held,
        horizons_us=settings.gate_horizons_us,
        origins=settings.origins,
        seed=settings.seed,
    )
    reasons = newest.refusals(found)
    this.work.write(
        this.state,
        "comparison.json",
        {"compared": [asdict(one) for one in found], "refusals": reasons},
    )
    for one in found:
        this.say(
            f"compare: {one.quantity} at {one.horizon_us / 1000:g} ms: {one.ratio:.3f} of the"
            f" served model's loss, {one.low:.3f}…{one.high:.3f}"
        )
    for reason in reasons:
        this.say(f"compare: refused: {reason}")
    return "refused" if reasons else None


def install(this: Round) -> Result | None:
    """Puts the model where the forecaster reads it; the one before can be rolled back to."""
    key = this.options.sign_key
    contract = read_contract(this.run / "model")
    signer = None if key is None else read_signer(key)
    history.install(this.options.model, contract.manifest, contract.onnx, signer)
    this.say(f"promoted: {contract.manifest.name} in {this.options.model}")
    return None


def register(this: Round) -> Result | None:
    """Publishes run and model to MLflow."""
    if this.options.registry:
        done = publish(RunDirectory(this.run), this.options.registry)
        this.say(f"published: MLflow run {done.run_id}")
    return "promoted"


STAGE_FUNCTIONS: Final[Mapping[Stage, StageFunction]] = {
    "collect": collect,
    "drift": drift,
    "train": fit,
    "evaluate": judge,
    "gate": gate,
    "compare": compare,
    "promote": install,
    "publish": register,
}
