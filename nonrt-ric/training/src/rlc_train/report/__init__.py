"""The model card: what a model is, how good, where not, and how fast."""
