"""Turns indications of the SDK into the core's reports; raises `ServiceModelError`."""

from __future__ import annotations

import numpy as np
from ric.e2 import Indication as E2Indication
from ric.sm import KPM_OID, MAC_OID, RLC_OID, kpm, mac, rlc, tc
from sojourn_interfaces import forecast_pb2

from tc_controller.core.inputs import (
    BearerForecast,
    EventReport,
    FlowReport,
    ForecastReport,
    Indication,
    KpmReport,
    MacReport,
    PipelineReport,
    RlcReport,
)


def report_of(indication: E2Indication) -> Indication:
    """The report in an indication of one of the subscribed RAN functions."""
    if indication.oid == KPM_OID:
        report = kpm.report_of(indication)
        return KpmReport(
            indication.node_id,
            indication.collected_at_us,
            report.period_ms,
            # A UE without an RNTI counts for the cell alone; no RNTI is negative.
            {ue.rnti or -1 - n: ue.values for n, ue in enumerate(report.ues)},
            report.units,
        )
    return read_report(
        indication.node_id, indication.oid, indication.collected_at_us, indication.message
    )


def read_report(node_id: str, oid: str, at_us: int, message: bytes) -> Indication:
    """The report in the message of an indication, which is not of KPM."""
    if oid == RLC_OID:
        rlc.check(message)
        return RlcReport(node_id, at_us, message)
    if oid == MAC_OID:
        mac.check(message)
        return MacReport(node_id, at_us, message)
    content = tc.decode_indication(message)
    if content[0] == "pipeline_status":
        return PipelineReport(node_id, at_us, content[1])
    if content[0] == "flow_inventory":
        return FlowReport(node_id, at_us, content[1])
    return EventReport(node_id, at_us, content[1])


def forecast_of(batch: forecast_pb2.ForecastBatch) -> ForecastReport:
    """The report in a batch of the forecast stream; series of another shape are skipped."""
    columns = len(batch.quantiles)
    forecasts = []
    for item in batch.forecasts:
        series = next((s for s in item.series if s.quantity == forecast_pb2.OCCUPANCY_BYTES), None)
        if series is None or columns == 0 or len(series.values) % columns:
            continue
        values = np.asarray(series.values, dtype=np.float32).reshape(-1, columns)
        if len(values) != len(batch.points_us):
            continue
        forecasts.append(
            BearerForecast(
                rnti=item.bearer.rnti,
                drb=item.bearer.drb,
                origin_us=item.origin_us,
                occupancy_bytes=values,
                from_model=item.source == forecast_pb2.Forecast.MODEL,
            )
        )
    return ForecastReport(
        batch.node_id,
        batch.sent_at_us,
        tuple(float(q) for q in batch.quantiles),
        tuple(batch.points_us),
        forecasts,
    )
