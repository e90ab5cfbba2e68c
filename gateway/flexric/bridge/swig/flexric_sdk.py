"""FlexRIC's SDK as `flexric_bridge.sdk` declares it.

`make flexric-bridge` installs this file as the package `flexric_bridge_native`, beside the shared
object made by SWIG and `built_for.json`, the FlexRIC that it was built for.

FlexRIC's own Python module `xapp_sdk` can be used in the same process, after `FlexricSdk.open`; it
shares the connection, so its `init` is not called.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flexric_bridge.sdk import (
    Connection,
    E2Node,
    RanFunction,
    ReportRequest,
    SdkError,
    SdkErrorKind,
    SdkVersions,
    SNssai,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILT_FOR: Final = Path(__file__).with_name("built_for.json")
STOCK_MODULE: Final = "_xapp_sdk"


class FlexricSdk:
    """One session with a near-RT RIC; implements `flexric_bridge.sdk.Sdk`."""

    def __init__(self) -> None:
        self._native: Any = None

    def versions(self) -> SdkVersions:
        """The FlexRIC that this module was built for."""
        built = json.loads(BUILT_FOR.read_text())
        return SdkVersions(
            e2ap=built["e2ap"],
            kpm=built["kpm"],
            struct_bytes=built["struct_bytes"],
            s_nssai=built["s_nssai"],
            library=built["library"],
        )

    def load(self) -> None:
        """Load FlexRIC's library; raises `SdkError` of kind `mismatch`, as `open`."""
        if self._native is None:
            self._native = _load()

    def open(self, connection: Connection, reports: int) -> None:
        """Connect to the RIC at an IPv4 address.

        Raises `SdkError` of kind `mismatch` when FlexRIC's library is not the one this module was
        built for, or when `xapp_sdk` was imported before; of kind `no-sctp`, `absent`, `timeout`,
        `closed` or `no-nodes` when there is no session: then the process must end, because FlexRIC
        connects once in the life of a process.
        """
        self.load()
        with _errors(self._native):
            self._native.open_ric(
                connection.address,
                connection.configuration,
                connection.libraries,
                reports,
                float(connection.blocks_per_s),
                float(connection.setup_delay_s),
                int(connection.ric_was_away),
            )

    def nodes(self) -> list[E2Node]:
        """The nodes that were connected when the SDK was opened."""
        native = self._opened()
        with _errors(native):
            return [_node(described) for described in native.nodes()]

    def subscribe(self, request: ReportRequest) -> int:
        """Start reports; returns a handle above 0."""
        native, kpm_slice = self._opened(), request.kpm_slice or SNssai(sst=1)
        with _errors(native):
            handle: int = native.subscribe(
                request.node_id,
                request.function_id,
                request.period_ms,
                request.kpm_measurements,
                kpm_slice.sst,
                -1 if kpm_slice.sd is None else kpm_slice.sd,
                request.trigger,
                request.action,
            )
            return handle

    def unsubscribe(self, handle: int) -> None:
        """End a subscription."""
        native = self._opened()
        with _errors(native):
            native.unsubscribe(handle)

    def control(self, node_id: str, function_id: int, header: bytes, message: bytes) -> bytes:
        """One RIC control of E2SM-TC; the outcome of v0 is empty if the RIC does not forward it."""
        _, outcome, kind, detail = self._controls(node_id, function_id, header, (message,))
        if kind is not None:
            raise SdkError(kind, detail)
        return bytes(outcome)

    def controls(
        self, node_id: str, function_id: int, header: bytes, messages: tuple[bytes, ...]
    ) -> tuple[tuple[bool, ...], SdkError | None]:
        """Several, each sent without waiting for the answer to the previous one."""
        acknowledged, _, kind, detail = self._controls(node_id, function_id, header, messages)
        return acknowledged, None if kind is None else SdkError(kind, detail)

    def _controls(
        self, node_id: str, function_id: int, header: bytes, messages: tuple[bytes, ...]
    ) -> tuple[tuple[bool, ...], bytes, SdkErrorKind | None, str]:
        native = self._opened()
        with _errors(native):
            answer: tuple[tuple[bool, ...], bytes, SdkErrorKind | None, str] = native.controls(
                node_id, function_id, header, messages
            )
            return answer

    def close(self) -> None:
        """End every subscription and the session."""
        if self._native is not None:
            self._native.close_ric()

    def _opened(self) -> Any:
        if self._native is None:
            raise SdkError("closed", "the SDK is not open")
        return self._native


@contextmanager
def _errors(native: Any) -> Iterator[None]:
    try:
        yield
    except native.Failure as failure:
        raise SdkError(*failure.args) from None


def _load() -> Any:
    """The shared object, if FlexRIC's library beside it is the one it was built for."""
    if STOCK_MODULE in sys.modules:
        raise SdkError("mismatch", "xapp_sdk was imported before; open this SDK first")
    built = json.loads(BUILT_FOR.read_text())
    expected = f"E2AP {built['e2ap']}, KPM {built['kpm']}, SHA-256 {built['library_sha256'][:12]}"
    try:
        native = importlib.import_module(f"{__name__}._flexric")
    except ImportError as error:
        raise SdkError(
            "mismatch",
            f"built for FlexRIC's library with {expected}, which cannot be loaded: {error}",
        ) from None
    path = Path(native.library_path())
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != built["library_sha256"]:
        raise SdkError(
            "mismatch",
            f"built for FlexRIC's library with {expected}; found {_describe(path)}, SHA-256 "
            f"{found[:12]} in {path}: run `make flexric-bridge` again",
        )
    if (sizes := native.struct_bytes()) != built["struct_bytes"]:
        raise SdkError(
            "mismatch",
            f"the structures of {expected} have {built['struct_bytes']} bytes, those of the module"
            f" {sizes}: run `make flexric-bridge` again",
        )
    return native


def _describe(path: Path) -> str:
    """Which versions a library of FlexRIC has, by functions that only they have."""
    library = ctypes.CDLL(str(path))
    if hasattr(library, "e2ap_dec_query_request"):
        e2ap = "v3.01"
    else:
        e2ap = "v1.01" if hasattr(library, "add_reg_e2_node_v1") else "v2.03"
    kpm = "v3.00" if hasattr(library, "cp_ric_report_style_list") else "v2.01 or v2.03"
    return f"E2AP {e2ap}, KPM {kpm}"


def _node(described: tuple[Any, ...]) -> E2Node:
    name, kind, mcc, mnc, mnc_digits, nb_id, cu_du_id, functions = described
    return E2Node(
        id=name,
        type=kind,
        mcc=mcc,
        mnc=mnc,
        mnc_digits=mnc_digits,
        nb_id=nb_id,
        cu_du_id=cu_du_id,
        functions=tuple(RanFunction(*function) for function in functions),
    )
