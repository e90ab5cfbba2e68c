"""From a fitted forecaster to a model directory of the contract, compared before it is written."""
