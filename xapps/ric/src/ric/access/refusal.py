"""Why a client is refused, as the answer of a gRPC and of an HTTP server."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

import grpc

Reason = Literal["unauthenticated", "right", "node"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a client is refused; `detail` is what the client reads."""

    reason: Reason
    detail: str

    @property
    def code(self) -> grpc.StatusCode:
        """UNAUTHENTICATED for an unknown client, PERMISSION_DENIED for a missing right."""
        unknown, denied = grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED
        return unknown if self.reason == "unauthenticated" else denied

    @property
    def status(self) -> HTTPStatus:
        """401 for an unknown client, 403 for a missing right."""
        unknown = self.reason == "unauthenticated"
        return HTTPStatus.UNAUTHORIZED if unknown else HTTPStatus.FORBIDDEN
