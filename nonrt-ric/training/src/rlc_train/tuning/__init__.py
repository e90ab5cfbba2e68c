"""Search of hyper-parameters with KerasTuner's Hyperband, on one or several machines."""
