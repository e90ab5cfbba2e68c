"""What ends the demo with one line instead of a report."""


class DemoError(Exception):
    """Something the user can mend, said in one line."""
