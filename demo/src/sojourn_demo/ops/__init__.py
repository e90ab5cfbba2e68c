"""The operator's demo: the loop under a real Prometheus and Alertmanager, with a fault.

``__main__`` runs it: ``stack`` starts the tools found on PATH, ``timeline`` records alerts and
notifications, ``view`` and ``report`` show them.
"""
