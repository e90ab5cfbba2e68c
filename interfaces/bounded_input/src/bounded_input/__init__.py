"""Reading text that strangers write: what is ambiguous is refused."""

from bounded_input.json_text import parse_json

__all__ = ["parse_json"]
