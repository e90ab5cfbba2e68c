"""Records of the decision log, and counters behind the metrics."""
