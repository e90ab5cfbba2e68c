"""The model card: description, evaluation and timing of a model."""
