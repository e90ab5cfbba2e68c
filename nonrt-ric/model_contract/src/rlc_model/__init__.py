"""The model contract: the format of RLC forecasters, for training and for serving.

A model is a directory of three files:

* ``model.onnx``: one step, ``(sample, state) → (forecast, state)``, any batch size;
* ``manifest.json``: inputs, outputs, their order and units, and evaluation results;
* ``SHA256SUMS``: digests of the two, in the format of ``sha256sum``.

A fourth, ``SHA256SUMS.sig``, is its signature (:mod:`rlc_model.signature`).

Start with :mod:`rlc_model.contract` (read, check, write), then :mod:`rlc_model.features` (from
reports to samples), :mod:`rlc_model.horizon` (the points of a forecast), :mod:`rlc_model.outcomes`
(what forecasts are compared with), :mod:`rlc_model.series` (whole runs, for training) and
:mod:`rlc_model.scaler`. Nothing here needs an ML framework.

The drain of a forecast's point is the mean over the time that the point stands for:

>>> import numpy as np
>>> from rlc_model import span_mean, spans_us
>>> spans_us((11_000, 12_000, 14_000), period_us=1_000)
(1000, 1000, 2000)
>>> drain = np.array([[0.0], [4000.0], [2000.0]], np.float32)
>>> span_mean(drain, 2).ravel().tolist()
[nan, 2000.0, 3000.0]
"""

from rlc_model.contract import ModelContract, read_contract, write_contract
from rlc_model.errors import ContractError
from rlc_model.features import CONTEXT, FEATURES, FeatureExtractor, Samples
from rlc_model.graph import check_graph
from rlc_model.horizon import spans_us
from rlc_model.manifest import Manifest, Quantity
from rlc_model.outcomes import known_drain, limit_outcomes, outcomes, recent_drain, span_mean
from rlc_model.scaler import MinMaxScaler
from rlc_model.series import Bearer, BearerSeries, RunArrays, run_arrays

__all__ = [
    "CONTEXT",
    "FEATURES",
    "Bearer",
    "BearerSeries",
    "ContractError",
    "FeatureExtractor",
    "Manifest",
    "MinMaxScaler",
    "ModelContract",
    "Quantity",
    "RunArrays",
    "Samples",
    "check_graph",
    "known_drain",
    "limit_outcomes",
    "outcomes",
    "read_contract",
    "recent_drain",
    "run_arrays",
    "span_mean",
    "spans_us",
    "write_contract",
]
