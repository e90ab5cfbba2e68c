"""Who may do what at the servers of a program: access file, decisions, audit log."""

from ric.access.access import ALL_NODES, Access, Caller, Peer, bearer_token
from ric.access.audit import AuditLog
from ric.access.file import AccessList, Client, Right, access_schema, read_access_file, read_token
from ric.access.refusal import Refusal

__all__ = [
    "ALL_NODES",
    "Access",
    "AccessList",
    "AuditLog",
    "Caller",
    "Client",
    "Peer",
    "Refusal",
    "Right",
    "access_schema",
    "bearer_token",
    "read_access_file",
    "read_token",
]
