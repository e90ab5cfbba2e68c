"""``rlc-train evaluate --model``: any exported model on any recording, as it is served.

:mod:`~rlc_train.judging.windows` cuts recordings into windows of bounded size,
:mod:`~rlc_train.judging.served` says what the forecaster serves,
:mod:`~rlc_train.judging.judge` does it, :mod:`~rlc_train.judging.tally` has the sums of losses and
:mod:`~rlc_train.judging.rows` the results, which the gate uses as well.
"""
