"""FlexRIC as an E2 gateway: a sidecar whose one child process owns FlexRIC's SDK.

`flexric_bridge.sdk` is the door to that SDK.
"""
