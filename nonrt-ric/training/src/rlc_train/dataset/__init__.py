"""``rlc-train dataset``: planning and simulation of runs."""
