"""The HTTP server of a program: requests, responses, and routes with the right that each needs."""

from ric.http.messages import (
    Chunks,
    HttpError,
    Request,
    Response,
    json_response,
    text_response,
    too_many_requests,
)
from ric.http.routes import Handler
from ric.http.server import HttpServer

__all__ = [
    "Chunks",
    "Handler",
    "HttpError",
    "HttpServer",
    "Request",
    "Response",
    "json_response",
    "text_response",
    "too_many_requests",
]
