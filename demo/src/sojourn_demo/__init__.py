"""The demo: a 5G bearer bloats, the controller notices, the delay collapses.

``cli`` runs it: ``scenario`` writes what the gNB emulates, ``programs`` starts the three programs,
``live`` shows them, ``recording`` reads what the gNB wrote, ``measure`` turns it into the summary,
``report`` and ``table`` into something to look at.
"""
