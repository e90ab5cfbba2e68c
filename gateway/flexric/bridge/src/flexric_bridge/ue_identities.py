"""The identities of a gNB's UEs, joined over its parts.

O-DU, O-CU-CP and O-CU-UP are E2 nodes of their own, and each names a UE as its interfaces do
(O-RAN.WG3.E2SM §9.1.2): the DU by the gNB-CU-UE-F1AP-ID, the CU-UP by the gNB-CU-CP-UE-E1AP-ID, the
CU-CP by both; all may add the RAN UE ID. An identity that two parts report joins their UEs:

- gNB-CU-UE-F1AP-ID: unique within the gNB-CU (TS 38.473 §9.3.1.4);
- gNB-CU-CP-UE-E1AP-ID: unique within the gNB-CU-CP (TS 37.483 §9.3.1.4);
- RAN UE ID: unique within the gNB (TS 38.473 §9.3.1.115).

The AMF-UE-NGAP-ID is unique within an AMF alone, and joins nothing. What joined UEs contradict one
another in is unknown.

KPM has no C-RNTI. Some nodes write it in place of another identity: that is taken as proven while
each UE of the node's report has one that the node's RLC or MAC reports name as an RNTI.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from ric.errors import ServiceModelError
from ric.sm import MAC_OID, RLC_OID, mac, rlc


@dataclass(frozen=True, slots=True)
class UeIds:
    """What is known of a UE; `None`: unknown."""

    amf_ue_ngap_id: int | None = None
    gnb_cu_ue_f1ap_id: int | None = None
    gnb_cu_cp_ue_e1ap_id: int | None = None
    ran_ue_id: int | None = None
    """Its eight octets as a number, the first octet highest."""
    rnti: int | None = None


NAMES: Final = tuple(field.name for field in fields(UeIds))
JOINING: Final = ("gnb_cu_ue_f1ap_id", "gnb_cu_cp_ue_e1ap_id", "ran_ue_id")
"""Identities that are unique within the gNB."""
IN_KPM: Final = NAMES[:4]
"""Identities of KPM, in the order of the SDK's records."""

_REPORTS_KEPT: Final = 8
"""Reports of a node with more bearers than one holds name them in turn."""
_RNTIS: Final = range(1, 0xFFF0)
"""C-RNTIs (TS 38.321 table 7.1-1)."""

_Key = tuple[str, int]


class Rntis:
    """The RNTIs in the newest RLC and MAC reports of a node."""

    def __init__(self) -> None:
        self._newest: dict[str, deque[bytes]] = {
            oid: deque(maxlen=_REPORTS_KEPT) for oid in (RLC_OID, MAC_OID)
        }

    def observe(self, oid: str, message: bytes) -> None:
        """A report was received; it is read only when somebody asks."""
        if oid in self._newest:
            self._newest[oid].append(message)

    def known(self) -> set[int]:
        """The RNTIs."""
        found: set[int] = set()
        for oid, messages in self._newest.items():
            for message in messages:
                try:
                    found |= set(_rntis(oid, message))
                except ServiceModelError:
                    continue
        return found


def _rntis(oid: str, message: bytes) -> list[int]:
    rows = (rlc if oid == RLC_OID else mac).decode(message).records
    rntis: list[int] = rows["rnti"].tolist()
    return rntis


class UeIdentities:
    """The UEs of one gNB by the newest KPM report of each of its parts."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[_Key, list[UeIds]]] = {}

    def learn(self, node_id: str, ues: Sequence[UeIds], rntis: set[int]) -> Sequence[UeIds]:
        """Take over the UEs of a part's newest report, given the RNTIs in its other reports;
        returns all that is known of each."""
        by_key: dict[_Key, list[UeIds]] = {}
        own = _with_rntis(ues, rntis)
        for ids in own:
            for key in _keys(ids):
                by_key.setdefault(key, []).append(ids)
        self._by_key[node_id] = by_key
        return [self._joined(ids) for ids in own]

    def forget(self, node_id: str) -> None:
        """A part is gone, or runs anew."""
        self._by_key.pop(node_id, None)

    def _joined(self, ids: UeIds) -> UeIds:
        found = [ids]
        seen, to_do = set[_Key](), list(_keys(ids))
        while to_do:
            key = to_do.pop()
            if key in seen:
                continue
            seen.add(key)
            for by_key in self._by_key.values():
                for other in by_key.get(key, ()):
                    found.append(other)
                    to_do += _keys(other)
        return _agreed(found)


def _keys(ids: UeIds) -> Iterator[_Key]:
    for name in JOINING:
        value = getattr(ids, name)
        if value is not None:
            yield name, value


def _agreed(found: Iterable[UeIds]) -> UeIds:
    """What all agree on."""
    values: dict[str, set[int]] = {name: set() for name in NAMES}
    for ids in found:
        for name in NAMES:
            if (value := getattr(ids, name)) is not None:
                values[name].add(value)
    return UeIds(**{name: one.pop() for name, one in values.items() if len(one) == 1})


def _with_rntis(ues: Sequence[UeIds], rntis: set[int]) -> Sequence[UeIds]:
    """The UEs with their RNTI, where an identity is one."""
    written = {rnti: rnti for rnti in rntis if rnti in _RNTIS}
    # FlexRIC writes the lowest of eight octets first.
    written |= {(rnti & 0xFF) << 56 | (rnti >> 8) << 48: rnti for rnti in written}
    for name in IN_KPM:
        found = [written.get(getattr(ids, name)) for ids in ues]
        if ues and None not in found and len(set(found)) == len(ues):
            return [replace(ids, rnti=rnti) for ids, rnti in zip(ues, found, strict=True)]
    return ues
