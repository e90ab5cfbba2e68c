"""A 5G core network for tests: as much of AMF, SMF and UPF as one gNB and its UEs need.

``keys`` derives keys, ``nas`` and ``ngap`` are the messages, ``amf`` answers them, ``user_plane``
carries packets, ``transport`` the association with the gNB.
"""


class CoreError(Exception):
    """What the gNB or a UE sent is not what the core network can serve."""
