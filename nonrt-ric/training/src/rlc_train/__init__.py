"""``rlc-train``: data sets, training, evaluation and promotion of RLC forecasters.

Start with :mod:`rlc_train.cli`; each command is a module or package. :func:`read` returns results
of ``rlc-train evaluate --json`` as a table.
"""

from rlc_train.results import read

__all__ = ["read"]
