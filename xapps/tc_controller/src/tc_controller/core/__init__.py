"""The controller's pure core: no I/O, no clock, no log (import-linter enforces it).

- `controller`: reports in (`inputs`), actions out (`actions`)
- `observe`, `utilisation`, `inventory`, `pipeline_view`: what is known of a bearer (`look`)
- `detect`, `predict`: when its objective is violated, or will be
- `decide`, `ladder`, `templates`: what to try next, as an E2SM-TC pipeline
- `act`, `verify`, `reconcile`, `bearer`: sending it, judging it, keeping it, taking it back
- `policy`, `select`: what the operator demands of which bearers
- `decision`, `counters`: what is told of all that
"""
