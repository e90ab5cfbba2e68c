"""From E2 indications to runs: of an E2 gateway (``rlc-train collect``) or of the lab."""
