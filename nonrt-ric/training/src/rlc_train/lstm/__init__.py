"""The Keras LSTM: the network, how it is trained as it is served, and stolidis2024's own."""
