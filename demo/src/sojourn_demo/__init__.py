"""The demo: the controller reduces the delay of a bufferbloated 5G bearer.

``cli`` runs it: ``programs`` starts the programs, ``live`` displays their metrics, ``recording``
writes the scenario and reads the recording, ``measure`` makes the summary, ``lead`` says it in
words, ``tables``, ``figures`` and ``report`` show it in the ``colours`` of its quantities. ``oai``
and ``kernel`` run it with kernels' own network stacks, whose ``load`` they share.
"""


class DemoError(Exception):
    """An error that the user can fix; the message is one line."""
