"""The gRPC interfaces of Sojourn, generated from `interfaces/proto` at build time.

- `sojourn_interfaces.e2_gateway_pb2` / `e2_gateway_pb2_grpc`: the E2 gateway.
- `sojourn_interfaces.forecast_pb2` / `forecast_pb2_grpc`: the forecast stream.

The `.proto` files document every message and field. After a change, reinstall an editable
installation.
"""

from __future__ import annotations

import unicodedata
from typing import Final

MAX_IDENTIFIER_BYTES: Final = 256
"""UTF-8 bytes of a node id or RAN function OID in a request, and characters of a field of the audit
log. The emulated gNB has the same bound: `gateway/access/vectors/audit.yaml`."""


def check_identifiers(**fields: str) -> None:
    """Check identifiers of a request, by field: they go into messages and audit lines.

    Raises `ValueError` that names the field, for one that is too long or has control characters.
    """
    for field, text in fields.items():
        length = len(text.encode("utf-8", "surrogatepass"))
        if length > MAX_IDENTIFIER_BYTES:
            found = f"{length} bytes"
        elif any(unicodedata.category(character) == "Cc" for character in text):
            found = "a control character"
        else:
            continue
        raise ValueError(
            f"{field}: {found}; expected at most {MAX_IDENTIFIER_BYTES} bytes without control"
            " characters"
        )
