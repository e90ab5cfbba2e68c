"""Who may do what at the doors of a program."""

from ric.access.rights import Right

__all__ = ["Right"]
