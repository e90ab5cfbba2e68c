"""The gRPC and HTTP servers of a Python program, and what guards them.

TLS with certificates that are reread, the access file, the audit log, limits by client, HTTP/2 and
HTTP/1.1 are those of `gateway/serving`, on threads that never take the interpreter's lock. Handlers
are coroutines on the event loop that runs when the first server is started.
"""

from sojourn_serving._native import (
    CALLS,
    REPORT_COST_BYTES,
    REPORT_SHARE_ALPHA,
    REQUESTS,
    SCRAPES,
    Account,
    Caller,
    Exceeded,
    Hold,
    Message,
    Pool,
    Rate,
    Refusal,
    SetupError,
    Share,
    check_access_file,
)
from sojourn_serving.grpc import Abort, Call, GrpcServer, Procedure
from sojourn_serving.guard import Certificates, Family, Guard, LogRecord, Right, check_certificates
from sojourn_serving.http import BodyError, HttpServer, Request, Response

__all__ = [
    "CALLS",
    "REPORT_COST_BYTES",
    "REPORT_SHARE_ALPHA",
    "REQUESTS",
    "SCRAPES",
    "Abort",
    "Account",
    "BodyError",
    "Call",
    "Caller",
    "Certificates",
    "Exceeded",
    "Family",
    "GrpcServer",
    "Guard",
    "Hold",
    "HttpServer",
    "LogRecord",
    "Message",
    "Pool",
    "Procedure",
    "Rate",
    "Refusal",
    "Request",
    "Response",
    "Right",
    "SetupError",
    "Share",
    "check_access_file",
    "check_certificates",
]
