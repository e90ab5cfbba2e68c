"""``rlc-train``: data sets, training, evaluation and promotion of RLC forecasters.

Start with :mod:`rlc_train.cli`; each command is a module or package.
"""
