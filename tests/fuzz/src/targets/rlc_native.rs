//! Arrays of the forecaster: the first byte selects the operation, the rest are lengths, indices and
//! values. Arrays that do not match are refused.

use rlc_native::{
    Axes, COLUMNS, Checked, Coverage, Fields, Index, Losses, Mix, ModelOutput, Newest, Offsets,
    Outcomes, PointTimes, Previous, Quantities, Skill, samples, update_outside_ratio,
};

use crate::Cursor;

pub(crate) fn check(input: &[u8]) {
    let mut input = Cursor::new(input);
    match input.below(6) {
        0 => read_samples(&mut input),
        1 => mix(&mut input),
        2 => offsets(&mut input),
        3 => skill(&mut input),
        4 => coverage(&mut input),
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
    let context = floats(input);
    let rows = usize::from(input.u8());
    let mut out = vec![[0.0; COLUMNS]; rows];
    let (mut levels, mut fresh) = (vec![[0; 2]; rows], vec![false; rows]);
    let _ = samples(input.rest(), &fields, &before, &context, &mut out, &mut levels, &mut fresh);
}

/// A mix of up to four slots, by a series of reports, outcomes and new bearers. Its memory grows with
/// the farthest point, which is therefore near.
fn mix(input: &mut Cursor<'_>) {
    let columns = (0..input.below(4)).map(|_| input.below(4)).collect();
    let (rate, limit) = (Some(input.below(4)), Some(input.u8().into()));
    let (quantities, levels) = (Quantities { columns, rate, limit }, floats(input));
    let ahead: Vec<i64> = (0..input.below(8)).map(|_| input.below(32) as i64).collect();
    let spans = ahead.iter().map(|_| input.below(12) as i64).collect();
    let points = PointTimes { ahead, spans };
    let Ok(mut mix) = Mix::new(quantities, levels, points, input.below(32)) else { return };
    while !input.is_empty() {
        let tick = input.u64().cast_signed();
        match input.below(5) {
            0 => mix.grow(input.below(5)),
            1 => mix.reset(input.u8().into()),
            2 => mix = mix.with_new_model(),
            3 => report(&mut mix, tick, input),
            _ => outcome(&mut mix, tick, input),
        }
    }
}

fn report(mix: &mut Mix, tick: i64, input: &mut Cursor<'_>) {
    let [features, values, scale, span, base] = std::array::from_fn(|_| floats(input));
    let (width, fresh, limited) = (input.u8().into(), flags(input), flags(input));
    let newest = Newest { features: &features, width, fresh: &fresh, limited: &limited };
    let output = ModelOutput { values: &values, scale: &scale, span: &span, base: &base };
    with_index(input, |input, slots| {
        if let Ok(found) = mix.forecasts(slots, tick, &newest, &output) {
            assert_eq!(found.finite, found.plain.iter().all(|value| value.is_finite()));
            assert_eq!(found.plain.len(), found.served.len());
        }
        let _ = mix.naive_forecasts(slots, input.below(5), tick);
    });
}

fn outcome(mix: &mut Mix, tick: i64, input: &mut Cursor<'_>) {
    let rows = usize::from(input.u8());
    let (actual, model) = (floats(input), floats(input));
    let (counts, warm) = (flags(input), flags(input));
    with_index(input, |input, slots| {
        with_index(input, |_, points| {
            let outcomes = Outcomes { rows, actual: &actual, counts: &counts };
            let checked = Checked { model: &model, warm: &warm };
            let _ = mix.learn(slots, points, &outcomes, tick, &checked);
        });
    });
    for slot in 0..mix.slots() {
        for weights in mix.weights(slot) {
            assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{weights:?}");
        }
    }
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

fn skill(input: &mut Cursor<'_>) {
    let mut skill = Skill::new(input.below(4), input.below(4));
    skill.grow(input.below(4));
    while !input.is_empty() {
        let (rows, at_us) = (usize::from(input.u8()), input.u64().cast_signed());
        let losses: Vec<Losses> = input.vec(|input| Losses {
            experts: std::array::from_fn(|_| f32::from_bits(input.u32())),
            mix: f32::from_bits(input.u32()),
            simple: std::array::from_fn(|_| f32::from_bits(input.u32())),
            best_simple: f32::from_bits(input.u32()),
        });
        with_index(input, |input, slots| {
            with_index(input, |_, points| {
                let _ = skill.learn(slots, points, rows, &losses, at_us);
            });
        });
        skill.reset(input.u8().into());
    }
}

fn coverage(input: &mut Cursor<'_>) {
    let (points, rows) = (input.u8().into(), usize::from(input.u8()));
    let (actual, served, counts) = (floats(input), floats(input), flags(input));
    let [mut checked, mut covered] =
        std::array::from_fn(|_| input.vec(|input| i64::from(input.u8())));
    let outcomes = Outcomes { rows, actual: &actual, counts: &counts };
    let mut coverage = Coverage { points, checked: &mut checked, covered: &mut covered };
    with_index(input, |_, at| {
        let _ = coverage.learn(at, &outcomes, &served);
    });
}
