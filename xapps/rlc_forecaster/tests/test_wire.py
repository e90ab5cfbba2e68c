"""Protobuf reads the messages that are encoded by columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlc_forecaster.core import Batch, Fallback, Layout, Source
from rlc_forecaster.encodings import Encodings
from rlc_forecaster.selection import CODE_OF, Encoder, Selection, SelectionError
from rlc_model import Quantity
from sojourn_interfaces import forecast_pb2 as pb

LAYOUT = Layout(tuple(Quantity), (11_000, 13_000, 20_000), (0.1, 0.5, 0.9))


def batch_of(bearers: list[tuple[int, int, bool, bool]], layout: Layout = LAYOUT) -> Batch:
    """A batch of bearers (RNTI, DRB, whether the model is served, whether the limit is known)."""
    n = len(bearers)
    shape = (n, len(layout.quantities), layout.points, len(layout.quantiles))
    values = np.sort(np.random.default_rng(n).random(shape), axis=-1).astype(np.float32)
    rnti, drb, modelled, limited = np.array(bearers, np.int64).reshape(-1, 4).T
    source = np.where(modelled, Source.MODEL, Source.PERSISTENCE).astype(np.uint8)
    fallback = np.where(modelled, Fallback.NONE, Fallback.WARMING_UP).astype(np.uint8)
    return Batch(
        "gnb-1",
        1_700_000_000_000_001,
        rnti.astype(np.uint32),
        drb.astype(np.uint8),
        layout,
        values,
        source,
        fallback,
        limited.astype(np.bool_),
        np.zeros(n, np.float32),
        "lstm:7",
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 255), st.booleans(), st.booleans()),
        max_size=9,
        unique_by=lambda bearer: bearer[:2],
    ),
    st.lists(st.sampled_from(list(CODE_OF.values())), unique=True, min_size=1),
    st.integers(0, 2**63 - 1),
)
def test_protobuf_reads_every_field(
    bearers: list[tuple[int, int, bool, bool]],
    quantities: list[pb.Quantity],
    sent_at_us: int,
) -> None:
    batch = batch_of(bearers)
    selection = Selection.of(pb.ForecastRequest(quantities=quantities), LAYOUT)
    message = pb.ForecastBatch.FromString(Encoder(selection).encode(batch, sent_at_us))
    assert (message.node_id, message.sent_at_us) == ("gnb-1", sent_at_us)
    assert list(message.quantiles) == pytest.approx([0.1, 0.5, 0.9])
    assert list(message.points_us) == [11_000, 13_000, 20_000]
    forecasts = {(f.bearer.rnti, f.bearer.drb): f for f in message.forecasts}
    assert len(message.forecasts) == len(bearers)
    for row, (rnti, drb, modelled, limited) in enumerate(bearers):
        forecast = forecasts[rnti, drb]
        assert forecast.origin_us == batch.origin_us
        assert forecast.source == (pb.Forecast.MODEL if modelled else pb.Forecast.PERSISTENCE)
        warming_up = pb.Forecast.WARMING_UP
        assert forecast.fallback == (0 if modelled else warming_up)
        assert forecast.model == ("lstm:7" if modelled else "")
        expected = [q for q in quantities if limited or q != pb.LIMIT_BYTES]
        assert [s.quantity for s in forecast.series] == expected
        for series in forecast.series:
            column = [CODE_OF[q] for q in LAYOUT.quantities].index(series.quantity)
            # Bytes per millisecond in the model, bytes per span of 2 or 7 ms in the message.
            spans = [2, 2, 7] if series.quantity == pb.DRAIN_BYTES else [1, 1, 1]
            spans_ms = np.array(spans, np.float32)
            expected_values = (spans_ms[:, None] * batch.values[row, column]).ravel()
            np.testing.assert_array_equal(np.array(series.values, np.float32), expected_values)


def test_each_batch_is_encoded_even_if_parts_are_unchanged() -> None:
    encoder = Encoder(Selection.of(pb.ForecastRequest(quantities=[pb.LIMIT_BYTES]), LAYOUT))
    all_modelled = [(rnti, 1, True, True) for rnti in range(4)]
    one_is_not, one_has_no_limit = list(all_modelled), list(all_modelled)
    one_is_not[2], one_has_no_limit[1] = (2, 1, False, True), (1, 1, True, False)
    for k, bearers in enumerate((all_modelled, all_modelled, one_is_not, one_has_no_limit)):
        batch = batch_of(bearers)
        batch = replace(batch, origin_us=batch.origin_us + 1_000 * k, values=batch.values + k)
        message = pb.ForecastBatch.FromString(encoder.encode(batch, 77 + k))
        fresh = pb.ForecastBatch.FromString(Encoder(encoder.selection).encode(batch, 77 + k))
        assert message == fresh
        assert message.sent_at_us == 77 + k
        assert {f.origin_us for f in message.forecasts} == {batch.origin_us}
        assert sum(f.source == pb.Forecast.MODEL for f in message.forecasts) == 4 - (k == 2)
        assert sum(len(f.series) for f in message.forecasts) == 4 - (k == 3)


def test_consumers_with_equal_selections_get_the_same_bytes() -> None:
    batch = batch_of([(1, 1, True, True)])
    encodings = Encodings(lambda: 1)
    first, second = (
        encodings.encoder(Selection.of(pb.ForecastRequest(), LAYOUT)) for _ in range(2)
    )
    assert encodings.get(first, batch) is encodings.get(second, batch)


def test_encoding_does_not_modify_the_batch() -> None:
    batch = batch_of([(1, 1, True, True)])
    before = batch.values.copy()
    selection = Selection.of(pb.ForecastRequest(quantities=[pb.DRAIN_BYTES]), LAYOUT)
    Encoder(selection).encode(batch, 1)
    np.testing.assert_array_equal(batch.values, before)


def test_selected_bearers_are_found_when_others_are_added() -> None:
    wanted = [pb.Bearer(rnti=7, drb=1)]
    encoder = Encoder(Selection.of(pb.ForecastRequest(bearers=wanted), LAYOUT))
    for bearers in ([(7, 1)], [(5, 1), (7, 1)], [(5, 1)], [(7, 2), (7, 1), (5, 1)]):
        batch = batch_of([(rnti, drb, True, True) for rnti, drb in bearers])
        message = pb.ForecastBatch.FromString(encoder.encode(batch, 1))
        found = [(f.bearer.rnti, f.bearer.drb) for f in message.forecasts]
        assert found == [b for b in bearers if b == (7, 1)]


def test_other_quantiles_lie_between_those_of_the_model() -> None:
    batch = batch_of([(1, 1, True, True)])
    request = pb.ForecastRequest(quantiles=[0.7, 0.3, 0.5])
    message = pb.ForecastBatch.FromString(Encoder(Selection.of(request, LAYOUT)).encode(batch, 1))
    assert list(message.quantiles) == pytest.approx([0.3, 0.5, 0.7])
    values = np.array(message.forecasts[0].series[0].values).reshape(3, 3)
    low, middle, high = batch.values[0, 0].T
    between = [(low + middle) / 2, middle, (middle + high) / 2]
    np.testing.assert_allclose(values, np.stack(between, 1), rtol=1e-6)


def test_the_outermost_quantiles_are_those_of_the_model() -> None:
    """Levels have the precision of the message, in which 0.9 is less than as a double."""
    request = pb.ForecastRequest(quantiles=[0.9, 0.1])
    message = pb.ForecastBatch.FromString(
        Encoder(Selection.of(request, LAYOUT)).encode(batch_of([(1, 1, True, True)]), 1)
    )
    assert list(message.quantiles) == pytest.approx([0.1, 0.9])
    for level in (0.0999, 0.9001, 0.99):
        beyond = pb.ForecastRequest(quantiles=[0.5, level])
        with pytest.raises(SelectionError, match=f"{level:g} is beyond .*; expected 0.1 to 0.9"):
            Selection.of(beyond, LAYOUT)
