"""The model contract: what a forecaster of RLC state is made of, for training and for serving.

A model is a directory of three files:

* ``model.onnx``: one step, ``(sample, state) → (forecast, state)``, batch size free;
* ``manifest.json``: what goes in and comes out, in which order and unit, and how good it is;
* ``SHA256SUMS``: digests of the two, in the format of ``sha256sum``.

Start with :mod:`rlc_model.contract` (read, check, write), then :mod:`rlc_model.features` (from RLC
reports to samples) and :mod:`rlc_model.scaler`. Nothing here needs an ML framework.
"""

from rlc_model.contract import ModelContract, read_contract, write_contract
from rlc_model.errors import ContractError
from rlc_model.features import FEATURES, FeatureExtractor, Samples
from rlc_model.manifest import Manifest, Quantity
from rlc_model.scaler import MinMaxScaler

__all__ = [
    "FEATURES",
    "ContractError",
    "FeatureExtractor",
    "Manifest",
    "MinMaxScaler",
    "ModelContract",
    "Quantity",
    "Samples",
    "read_contract",
    "write_contract",
]
