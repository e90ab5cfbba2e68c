"""Command-line tools: `ric-sm` (service model bytes and JSON) and `ric` (a gateway's nodes)."""
