//! Arrays of the forecaster: the first byte selects the operation, the rest are lengths, indices and
//! values. Arrays that do not match are refused.

use rlc_native::{
    Axes, COLUMNS, Coverage, Fields, Index, Losses, ModelOutput, Offsets, Outcomes, Previous, Rule,
    add_and_order, forecasts_at, samples, update_outside_ratio,
};

use crate::cursor::Cursor;

pub(crate) fn check(input: &[u8]) {
    let mut input = Cursor::new(input);
    match input.below(7) {
        0 => read_samples(&mut input),
        1 => model_output(&mut input),
        2 => offsets(&mut input),
        3 => losses(&mut input),
        4 => coverage(&mut input),
        5 => {
            let (plain, offset) = (floats(&mut input), floats(&mut input));
            let _ = add_and_order(&plain, &offset, input.u8().into());
        }
        _ => {
            let (features, low, high) =
                (floats(&mut input), floats(&mut input), floats(&mut input));
            let weight = input.f64();
            let mut outside = input.vec(Cursor::f64);
            let _ = update_outside_ratio(&features, &low, &high, weight, &mut outside);
        }
    }
}

fn floats(input: &mut Cursor<'_>) -> Vec<f32> {
    input.vec(|input| f32::from_bits(input.u32()))
}

fn flags(input: &mut Cursor<'_>) -> Vec<bool> {
    input.vec(|input| input.u8() & 1 == 1)
}

fn pairs<T>(input: &mut Cursor<'_>, item: impl Fn(&mut Cursor<'_>) -> T) -> Vec<[T; 2]> {
    input.vec(|input| [item(input), item(input)])
}

fn read_samples(input: &mut Cursor<'_>) {
    let fields = Fields {
        record: input.u8().into(),
        occupancy_bytes: input.u8().into(),
        occupancy_packets: input.u8().into(),
        pdu_bytes: input.u8().into(),
        mean_sojourn: input.u8().into(),
        head_of_line_age: input.u8().into(),
    };
    let before = pairs(input, |input| input.u64().cast_signed());
    let (elapsed_ms, seen) = (input.vec(Cursor::f64), flags(input));
    let before = Previous { levels: &before, elapsed_ms: &elapsed_ms, seen: &seen };
    let rows = usize::from(input.u8());
    let mut out = vec![[0.0; COLUMNS]; rows];
    let (mut levels, mut fresh) = (vec![[0; 2]; rows], vec![false; rows]);
    let _ = samples(input.rest(), &fields, &before, &mut out, &mut levels, &mut fresh);
}

fn model_output(input: &mut Cursor<'_>) {
    let [values, scale, span, base, offset] = std::array::from_fn(|_| floats(input));
    let quantiles = input.u8().into();
    let output = ModelOutput { values: &values, scale: &scale, span: &span, base: &base };
    let Ok(forecasts) = output.forecasts(&offset, quantiles) else { return };
    assert_eq!(forecasts.plain.len(), values.len());
    assert_eq!(forecasts.served.len(), values.len());
}

/// Calls `with` with indices, which may be wrong.
fn with_index(input: &mut Cursor<'_>, with: impl FnOnce(&mut Cursor<'_>, Index<'_>)) {
    match input.below(3) {
        0 => {
            let index = isize::from(input.u8().cast_signed());
            with(input, Index::One(index));
        }
        1 => {
            let first = input.u8().into();
            with(input, Index::From(first));
        }
        _ => {
            let each = input.vec(|input| isize::from(input.u8().cast_signed()));
            with(input, Index::Each(&each));
        }
    }
}

fn axes(input: &mut Cursor<'_>) -> Axes {
    Axes { quantities: input.u8().into(), points: input.u8().into(), quantiles: input.u8().into() }
}

fn offsets(input: &mut Cursor<'_>) {
    let (axes, rows) = (axes(input), usize::from(input.u8()));
    let (levels, plain, actual) = (floats(input), floats(input), floats(input));
    let (mut theta, mut size, mut offset) = (floats(input), floats(input), floats(input));
    let (mut begun, counts) = (flags(input), flags(input));
    with_index(input, |input, slots| {
        with_index(input, |_, points| {
            let _ = forecasts_at(&plain, &offset, axes, rows, slots, points);
            let outcomes = Outcomes { rows, actual: &actual, counts: &counts };
            let mut state = Offsets {
                axes,
                levels: &levels,
                theta: &mut theta,
                size: &mut size,
                offset: &mut offset,
                begun: &mut begun,
            };
            let _ = state.learn(slots, points, &outcomes, &plain);
        });
    });
}

fn losses(input: &mut Cursor<'_>) {
    let (points, rows) = (input.u8().into(), usize::from(input.u8()));
    let rule = Rule {
        weight: input.f64(),
        lose_below: input.f64(),
        regain_above: input.f64(),
        least_outcomes: input.u64().cast_signed(),
    };
    let (levels, actual) = (floats(input), floats(input));
    let (model, persistence) = (floats(input), floats(input));
    let mut bearer = pairs(input, |input| f32::from_bits(input.u32()));
    let mut counted = input.vec(|input| i64::from(input.u8()));
    let (mut set_aside, counts) = (flags(input), flags(input));
    let mut point = pairs(input, |input| input.f64());
    with_index(input, |input, slots| {
        with_index(input, |_, at| {
            let outcomes = Outcomes { rows, actual: &actual, counts: &counts };
            let mut losses = Losses {
                levels: &levels,
                points,
                bearer: &mut bearer,
                outcomes: &mut counted,
                set_aside: &mut set_aside,
                point: &mut point,
            };
            let _ = losses.learn(&rule, slots, at, &outcomes, &model, &persistence);
        });
    });
}

fn coverage(input: &mut Cursor<'_>) {
    let (points, rows) = (input.u8().into(), usize::from(input.u8()));
    let (actual, persistence, model) = (floats(input), floats(input), floats(input));
    let (counts, served) = (flags(input), flags(input));
    let [mut checked, mut covered] =
        std::array::from_fn(|_| input.vec(|input| i64::from(input.u8())));
    let outcomes = Outcomes { rows, actual: &actual, counts: &counts };
    let mut coverage = Coverage { points, checked: &mut checked, covered: &mut covered };
    with_index(input, |_, at| {
        let _ = coverage.learn(at, &outcomes, &persistence, &model, &served);
    });
}
