"""rlc_forecaster: forecasts of the RLC queue of each bearer, streamed over gRPC.

``core`` is pure: reports and times in, forecasts out (start with ``core/engine.py``).
``onnx_step`` runs a model of the model contract, ``service`` is the gRPC service, ``app`` connects
them to the E2 gateway, ``cli`` starts it.
"""
