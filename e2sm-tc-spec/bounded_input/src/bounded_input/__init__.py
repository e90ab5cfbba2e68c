"""Reading text that strangers write: what is ambiguous is refused."""

from bounded_input.json_text import JsonError, parse_json

__all__ = ["JsonError", "parse_json"]
