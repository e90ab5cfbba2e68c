"""Export of forecasters as ONNX steps, and their comparison with the original."""
