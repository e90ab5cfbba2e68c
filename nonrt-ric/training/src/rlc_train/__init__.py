"""From simulated or recorded RLC state to a promoted forecaster: ``rlc-train``.

Start with :mod:`rlc_train.cli`: each command is a package or module beside it.
"""
