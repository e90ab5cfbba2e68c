"""An interrupted back-test continues, only with losses of the same experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_corpus import corpus, layout
from rlc_model import Quantity
from rlc_train import backtest, pipeline
from rlc_train.backtest import SUMS, Losses
from rlc_train.commands.evaluate import show
from rlc_train.errors import TrainError
from rlc_train.loss_cache import LossCache
from rlc_train.splits import split

AXES = layout()
NAMES = ["persistence", "mean-of-5", "seasonal-naive"]
PARTS = split(corpus(3_000), AXES, held_out_cells=["c"])


def evaluate(cache: LossCache, lines: list[str] | None = None) -> dict[str, dict[str, Losses]]:
    log = None if lines is None else lines.append
    return pipeline.evaluate(
        {}, NAMES, PARTS, AXES, origins=400, seed=1, estimators={}, cache=cache, log=log
    )


def same(one: dict[str, dict[str, Losses]], other: dict[str, dict[str, Losses]]) -> bool:
    assert {s: list(names) for s, names in one.items()} == {s: list(n) for s, n in other.items()}
    return all(
        np.array_equal(getattr(losses, what), getattr(other[where][name], what))
        and losses.scenario == other[where][name].scenario
        for where, by_name in one.items()
        for name, losses in by_name.items()
        for what in SUMS
    )


@pytest.mark.parametrize("before", range(6))
def test_an_interrupted_back_test_ends_as_an_uninterrupted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    expected = evaluate(LossCache())
    cache, run, runs = LossCache(tmp_path, {"data": "d"}), backtest.run, 0

    def killed(*words: Any) -> Losses:
        nonlocal runs
        runs += 1
        if runs > before:
            raise KeyboardInterrupt
        return run(*words)

    monkeypatch.setattr(backtest, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        evaluate(cache)
    monkeypatch.setattr(backtest, "run", run)
    lines: list[str] = []
    assert same(evaluate(cache, lines), expected)
    assert len(lines) == 6 - before
    assert lines[-1].startswith("unseen: evaluated seasonal-naive on ")
    lines.clear()
    assert same(evaluate(cache, lines), expected)
    assert not lines


def test_damaged_losses_and_losses_of_other_inputs_are_ignored(tmp_path: Path) -> None:
    cache = LossCache(tmp_path, {"data": "d", "origins": 400}, {"lstm": b"graph"})
    losses = evaluate(cache)["test"]["persistence"]
    for name in ("lstm", "lstm@sarima"):
        cache.put("test", name, losses)
    retrained = replace(cache, graphs={"lstm": b"another graph"})
    elsewhere = replace(cache, of={"data": "e", "origins": 400})
    found = {
        name: [one.get("test", name) is not None for one in (cache, retrained, elsewhere)]
        for name in ("persistence", "lstm", "lstm@sarima")
    }
    assert found == {
        "persistence": [True, True, False],
        "lstm": [True, False, False],
        "lstm@sarima": [True, False, False],
    }
    path = tmp_path / "test" / "persistence.npz"
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole.replace(whole[middle : middle + 40], bytes(40))
    for damaged in (b"", b"no archive", whole[:middle], flipped):
        path.write_bytes(damaged)
        assert cache.get("test", "persistence") is None
    path.unlink()
    assert cache.get("test", "persistence") is None


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "test").write_text("in the way")
    with pytest.raises(TrainError, match=r"test/persistence\.npz: (File exists|Not a directory)"):
        evaluate(LossCache(tmp_path))


def test_a_table_in_a_file_has_full_names(capsys: pytest.CaptureFixture[str]) -> None:
    everything = layout(quantities=tuple(Quantity))
    numbers = {"skill": [[0.25] * 20] * 3}
    show({"unseen": {"best-simple": numbers, "lstm@sarima": numbers}}, everything)
    table = capsys.readouterr().out
    assert table.count("queue limit") == 2
    assert table.count("+0.250") == 6
    assert "best-simple" in table
    assert "…" not in table
