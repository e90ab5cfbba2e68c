"""E2 indications of a node handed to its engine: one reading, whoever brings the bytes."""

from __future__ import annotations

from typing import Final

import numpy as np
from ric.sm import mac, rlc, tc
from rlc_model.features import MCS_MAX

from rlc_forecaster.core import Batch, Forecaster

_U32_MAX: Final = 2**32 - 1


def take_rlc(engine: Forecaster, message: bytes) -> Batch | None:
    """Forecasts from an RLC report; None for one that is late, a duplicate or empty.

    Raises:
        ServiceModelError: The bytes are no RLC report.
        ContractError: As :meth:`~rlc_forecaster.core.Forecaster.on_report`.
    """
    table = rlc.decode(message)
    return engine.on_report(table.records, table.tstamp_us)


def take_mac(engine: Forecaster, message: bytes) -> None:
    """Notes MCS and transport blocks of a MAC report.

    Raises:
        ServiceModelError: The bytes are no MAC report.
        ContractError: As :meth:`~rlc_forecaster.core.Forecaster.note_mac`.
    """
    table = mac.decode(message)
    records = table.records
    # A number no node should say is left out, as in the data a model learns from.
    sane = (records["dl_mcs1"] <= MCS_MAX) & (records["dl_curr_tbs"] <= _U32_MAX)
    kept = records[sane]
    engine.note_mac(kept["rnti"], kept["dl_mcs1"], kept["dl_curr_tbs"], table.tstamp_us)


def take_limits(engine: Forecaster, message: bytes, collected_at_us: int) -> None:
    """Notes the pacers' queue limits of an E2SM-TC v1 pipeline status.

    Raises:
        ServiceModelError: The bytes are no indication of E2SM-TC v1, or its codec is missing.
        ContractError: As :meth:`~rlc_forecaster.core.Forecaster.note_limits`.
    """
    columns = tc.pacer_limits(message)
    rnti, drb, limit = (np.array(column, np.int64) for column in columns)
    engine.note_limits(rnti, drb, limit, collected_at_us)
