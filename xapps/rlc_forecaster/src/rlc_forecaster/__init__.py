"""rlc_forecaster: what the RLC queue of each bearer will be, streamed over gRPC.

``core`` is pure: reports and times in, forecasts out (start with ``core/engine.py``).
``onnx_step`` runs a model of the contract, ``service`` is the gRPC door, ``app`` ties them to the
E2 gateway, ``cli`` starts it.
"""
