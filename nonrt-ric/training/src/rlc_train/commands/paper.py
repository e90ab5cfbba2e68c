"""Trains and measures stolidis2024's own model: windowed LSTM(N), MSE, N 1000, M 400.

Its T_m is measured on this machine and sets its labels; it is compared with persistence at its own
horizon. It is not a streaming model, so it is not exported.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

import numpy as np
from ric.flags import file_to_write

from rlc_train import backtest, corpus, pipeline
from rlc_train.baselines import BASELINES
from rlc_train.errors import write_text
from rlc_train.lstm import backend, paper
from rlc_train.progress import bars
from rlc_train.settings import add_experiment_arguments
from rlc_train.settings import load as load_settings

NAME = "paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_experiment_arguments(parser)
    parser.add_argument(
        "--out", type=file_to_write, required=True, help="JSON file for the results"
    )
    parser.add_argument("--window", type=int, default=1000, help="N (1000)")
    parser.add_argument("--points", type=int, default=400, help="M (400)")
    parser.add_argument("--windows", type=int, default=256, help="windows per series (256)")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--time-only", action="store_true", help="measure T_m without training")


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    settings = load_settings(arguments.settings, arguments.preset)
    backend.tensorflow()
    shape = paper.PaperShape(
        window=arguments.window,
        points=arguments.points,
        windows=arguments.windows,
        epochs=arguments.epochs,
    )
    timing = paper.measure(paper.build(shape), shape)
    result: dict[str, Any] = {
        "shape": shape.model_dump(),
        "t_m": asdict(timing),
        "device": backend.device(),
    }
    if not arguments.time_only:
        layout = paper.layout_of(
            shape,
            quantities=tuple(settings.quantities),
            quantiles=tuple(settings.quantiles),
            t_m_us=timing.median_us,
            t_rd_us=settings.horizon.t_rd_us,
            t_rc_us=settings.horizon.t_rc_us,
        )
        series, sha256 = corpus.load(arguments.data, settings.context_us)
        parts = pipeline.split_corpus(series, settings, layout)
        model = paper.PaperLstm(shape)
        with bars() as shown:
            shown.print(f"T_m {timing.median_us / 1000:.1f} ms; training {len(parts.train)} series")
            model.fit(parts.train, layout, settings.seed)
            held = parts.unseen or parts.test
            few = backtest.origins_of(held, layout, model.most_origins or 100)
            ours = backtest.run(model, few, layout, shown.tick)
        persistence = BASELINES["persistence"]()
        persistence.fit(parts.train, layout, settings.seed)
        versus = backtest.Versus(ours, backtest.run(persistence, few, layout))
        result |= {
            "data_sha256": sha256,
            "start_us": layout.points_us[0],
            "split": "unseen" if parts.unseen else "test",
            "origins": sum(len(origins) for _, origins in few),
            "skill_over_persistence": {
                q.value: asdict(versus.skill(i, None, settings.seed))
                for i, q in enumerate(layout.quantities)
                if np.isfinite(versus.skill_by_point()[i]).any()
            },
        }
    write_text(arguments.out, json.dumps(result, indent=2) + "\n")
    print(f"{arguments.out}: N {shape.window}, M {shape.points}, T_m {timing.median_us:.0f} µs")
    return 0
