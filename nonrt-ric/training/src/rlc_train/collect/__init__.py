"""``rlc-train collect``: runs from the indications of an E2 gateway or of the lab."""
