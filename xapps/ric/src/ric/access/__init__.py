"""Who may do what at the servers of a program.

Access file and audit log are those of the library of servers, `gateway/serving`.
"""

from ric.access.caller import ALL_NODES, Caller, Right
from ric.access.refusal import Refusal
from ric.access.token_file import read_token

__all__ = ["ALL_NODES", "Caller", "Refusal", "Right", "read_token"]
