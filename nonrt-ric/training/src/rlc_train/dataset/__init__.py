"""``rlc-train dataset``: plans of runs, and their simulation."""
