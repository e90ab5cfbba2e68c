"""Search of hyper-parameters with KerasTuner's Hyperband, on one machine or on several."""
