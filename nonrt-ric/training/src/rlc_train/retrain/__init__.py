"""``rlc-train retrain``: collect → drift → train → evaluate → gate → compare → promote → publish.

:mod:`~rlc_train.retrain.state` is what a killed round continues from,
:mod:`~rlc_train.retrain.newest` judges models on the newest data,
:mod:`~rlc_train.retrain.stages` has the stages that :mod:`~rlc_train.retrain.round` runs in turn.
"""
