"""Trials: what the base of a rule is worth against another pipeline."""
