"""The Keras LSTM, its training, and the model of stolidis2024."""
