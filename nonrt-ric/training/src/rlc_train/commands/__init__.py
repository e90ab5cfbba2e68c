"""The commands of ``rlc-train`` that make a model of a data set."""
