"""Counters, KPM and the TC codec's adapter."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ric.e2 import Indication, KpmReport, KpmUe
from ric.errors import ServiceModelError, ServiceModelUnavailable
from ric.sm import KPM_OID, RLC_OID, TC_V1_OID, kpm, ran_function_name, tc


def test_names_of_ran_functions() -> None:
    assert [ran_function_name(oid) for oid in (RLC_OID, TC_V1_OID, "1.2.3")] == [
        "rlc",
        "tc_v1",
        "1.2.3",
    ]


def indication(report: KpmReport | None) -> Indication:
    return Indication("gnb", 2, KPM_OID, 1, b"", b"\1\2", report, 1, 2)


def test_kpm_report_by_measurement() -> None:
    report = KpmReport(
        100, (KpmUe(1, {"DRB.UEThpDl": 5.0}), KpmUe(2, {"RRU.PrbTotDl": 9.0})), ("X",)
    )
    assert kpm.report_of(indication(report)) is report
    assert kpm.column(report, "DRB.UEThpDl") == {1: 5.0}


def test_an_indication_without_kpm_report_is_refused() -> None:
    with pytest.raises(ServiceModelError, match="kpm: indication: 2 message bytes"):
        kpm.report_of(indication(None))


@pytest.fixture
def forget_codec() -> Iterator[None]:
    tc._codec.cache_clear()
    yield
    tc._codec.cache_clear()


@pytest.mark.usefixtures("forget_codec")
def test_without_the_codec_tc_names_the_missing_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "e2sm_tc", None)
    assert not tc.available()
    with pytest.raises(ServiceModelUnavailable, match="e2sm_tc"):
        tc.decode("indication", b"")


@pytest.mark.usefixtures("forget_codec")
def test_codec_errors_become_service_model_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    class RefusalError(ValueError):
        element = "pipeline.queues[0]"

    def refuse(*_: object) -> bytes:
        raise RefusalError("17 is too many")

    codec = types.ModuleType("e2sm_tc")
    codec.CodecError, codec.encode, codec.decode = RefusalError, refuse, refuse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "e2sm_tc", codec)
    for call in (lambda: tc.encode("control", {}), lambda: tc.decode("control", b"")):
        with pytest.raises(ServiceModelError) as caught:
            call()
        assert caught.value.place == "control.pipeline.queues[0]"
        assert caught.value.found == "17 is too many"


@pytest.mark.skipif(not tc.available(), reason="the module e2sm_tc is not built")
class TestRealCodec:
    def test_round_trip(self) -> None:
        trigger = {"periodic": {"period_ms": 10}}
        assert tc.decode("event-trigger", tc.encode("event-trigger", trigger)) == trigger

    @given(garbage=st.binary(max_size=100), encoding=st.sampled_from(["v0", "v1"]))
    def test_arbitrary_bytes_raise_nothing_else(
        self, garbage: bytes, encoding: tc.Encoding
    ) -> None:
        try:
            tc.decode("indication", garbage, encoding)
        except ServiceModelError as error:
            assert error.model == "tc"
