"""``rlc-train evaluate --model``: any exported model on any recording, as it is served.

:mod:`~rlc_train.judging.model` loads a model, :mod:`~rlc_train.judging.windows` cuts recordings,
:mod:`~rlc_train.judging.judge` runs the model on them, :mod:`~rlc_train.judging.served` says what
the forecaster serves. :mod:`~rlc_train.judging.tally` has the sums of losses and
:mod:`~rlc_train.judging.rows` the results, for the gate as well.
"""
