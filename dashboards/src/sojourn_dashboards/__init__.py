"""Grafana dashboards of Sojourn as typed code; `python -m sojourn_dashboards` writes their JSON."""
