"""The load of a bearer by real network stacks.

``commands`` start programs; ``iperf``, ``ping``, ``irtt`` and ``flow`` read what each says;
``rows`` keeps it as recordings do.
"""
