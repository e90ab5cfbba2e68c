"""``rlc-train``: data sets, training, evaluation and promotion of RLC forecasters.

Start with :mod:`rlc_train.cli`; each command is a module or package. :func:`read` returns results
of ``rlc-train evaluate --json`` as a table:

>>> import json, tempfile
>>> from dataclasses import asdict
>>> from pathlib import Path
>>> import rlc_train
>>> from rlc_train.judging.row import Row
>>> radio = ("m:1", "walk", "n78", "paced", "occupancy")
>>> row = Row(*radio, 20_000, 1000, 40.0, 50.0, 0.8, 0.75, 0.86, 0.81, 0.8, 0.79)
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = (Path(folder) / "results.json").write_text(json.dumps([asdict(row)]))
...     table = rlc_train.read(Path(folder) / "results.json")
>>> table.select(["quantity", "horizon_us", "ratio"]).to_pylist()
[{'quantity': 'occupancy', 'horizon_us': 20000, 'ratio': 0.8}]
"""

from rlc_train.results import read

__all__ = ["read"]
