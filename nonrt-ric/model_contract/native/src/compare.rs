//! Past forecasts compared with what became of them: coverage, mix and skill learn at once.

use crate::{
    ArrayError, Checked, Coverage, Index, LengthError, Mix, Outcomes, Skill, SkillUpdate, check,
};

/// Forecasts that were made at one report, of P bearers.
#[derive(Debug, Clone, Copy)]
pub struct Past<'a> {
    /// `(P, K, M, Q)` as they were served.
    pub served: &'a [f32],
    /// `(P, K, M, Q)` of the model, without offsets; empty without a model.
    pub model: &'a [f32],
    /// `(P,)` whether the model was warmed up.
    pub warm: &'a [bool],
}

/// Those of them that are due: of some of the bearers, at one point.
#[derive(Debug, Clone, Copy)]
pub struct Due<'a> {
    /// The point.
    pub point: usize,
    /// How many bearers.
    pub rows: usize,
    /// Their rows among the P.
    pub then: Index<'a>,
    /// What they are of.
    pub past: Past<'a>,
}

/// What was forecast for N outcomes, as the parts of [`compare`] take it.
#[derive(Debug, Default)]
struct Gathered {
    points: Vec<isize>,
    served: Vec<f32>,
    model: Vec<f32>,
    warm: Vec<bool>,
}

impl Gathered {
    fn of(
        due: &[Due<'_>],
        [quantities, points, quantiles]: [usize; 3],
    ) -> Result<Self, ArrayError> {
        let each = quantities * points * quantiles;
        let mut gathered = Self::default();
        for one in due {
            let Due { point, rows, then, past } = *one;
            let of_past = past.warm.len();
            then.check("then", rows, of_past)?;
            Index::From(point).check("point", 1, points)?;
            check("served", past.served.len(), of_past.saturating_mul(each), of_past)?;
            if !past.model.is_empty() {
                check("model", past.model.len(), past.served.len(), of_past)?;
            }
            for row in (0..rows).map(|row| then.at(row)) {
                for quantity in 0..quantities {
                    let at = row * each + (quantity * points + point) * quantiles;
                    gathered.served.extend_from_slice(&past.served[at..at + quantiles]);
                    if !past.model.is_empty() {
                        gathered.model.extend_from_slice(&past.model[at..at + quantiles]);
                    }
                }
                gathered.warm.push(past.warm[row]);
            }
            gathered.points.resize(gathered.points.len() + rows, point as isize);
        }
        if !gathered.model.is_empty() {
            // A part without a model would shift the rows of the others.
            check("model", gathered.model.len(), gathered.served.len(), gathered.warm.len())?;
        }
        Ok(gathered)
    }
}

/// Compares forecasts that are due with N outcomes, in the order of both: counts what was covered, then mix
/// and skill learn.
///
/// `tick` is that of the outcomes, `at_us` their time.
///
/// # Errors
/// [`ArrayError`] when slices do not match or a slot is unknown; the state is then unchanged.
pub fn compare(
    (mix, skill, coverage): (&mut Mix, &mut Skill, &mut Coverage<'_>),
    slots: Index<'_>,
    outcomes: &Outcomes<'_>,
    due: &[Due<'_>],
    tick: i64,
    at_us: i64,
) -> Result<SkillUpdate, ArrayError> {
    let (axes, rows) = (mix.axes(), outcomes.rows);
    let gathered = Gathered::of(due, [axes.quantities, axes.points, axes.quantiles])?;
    let Gathered { points, served, model, warm } = &gathered;
    if warm.len() != rows {
        return Err(LengthError { name: "due", length: warm.len(), rows }.into());
    }
    slots.check("slots", rows, mix.slots().min(skill.slots()))?;
    outcomes.check(axes.quantities)?;
    check("checked", coverage.checked.len(), axes.quantities * axes.points, rows)?;
    let points = match due {
        // The same for all rows.
        [one] => Index::One(one.point as isize),
        _ => Index::Each(points),
    };
    coverage.learn(points, outcomes, served)?;
    let checked = Checked { model, warm };
    let losses = mix.learn(slots, points, outcomes, tick, &checked)?;
    skill.learn(slots, points, rows, &losses, at_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Newest, PointTimes, Quantities};

    const LEVELS: [f32; 3] = [0.1, 0.5, 0.9];
    const BEARERS: usize = 3;

    fn mix() -> Mix {
        let quantities = Quantities { columns: vec![0, 1], rate: Some(1), limit: None };
        let points = PointTimes { ahead: vec![1, 2], spans: vec![1, 1] };
        let mut mix = Mix::new(quantities, LEVELS.to_vec(), points, 2).unwrap();
        mix.grow(BEARERS);
        for tick in 0..3 {
            let features = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(|value: f32| value + tick as f32);
            let newest = Newest { features: &features, width: 2, fresh: &[], limited: &[] };
            mix.add(Index::From(0), BEARERS, tick, &newest).unwrap();
        }
        mix
    }

    /// Everything that learns.
    struct All {
        mix: Mix,
        skill: Skill,
        checked: [i64; 4],
        covered: [i64; 4],
    }

    impl All {
        fn new() -> Self {
            let mut skill = Skill::new(2, 2);
            skill.grow(BEARERS);
            Self { mix: mix(), skill, checked: [0; 4], covered: [0; 4] }
        }

        fn compare(
            &mut self,
            slots: Index<'_>,
            actual: &[f32],
            due: &[Due<'_>],
        ) -> Result<SkillUpdate, ArrayError> {
            let outcomes = Outcomes { rows: actual.len() / 2, actual, counts: &[] };
            let (checked, covered) = (&mut self.checked[..], &mut self.covered[..]);
            let mut coverage = Coverage { points: 2, checked, covered };
            let all = (&mut self.mix, &mut self.skill, &mut coverage);
            compare(all, slots, &outcomes, due, 3, 3_000)
        }

        /// Weights, skill and counts.
        fn state(&self) -> (Vec<f32>, Vec<f64>, [[i64; 4]; 2]) {
            let weights = (0..BEARERS).flat_map(|slot| self.mix.weights(slot).into_flattened());
            let skill = self.skill.by_point().as_flattened().to_vec();
            (weights.collect(), skill, [self.checked, self.covered])
        }
    }

    /// `(P, K, M, Q)`, all different.
    fn forecasts(bearers: usize) -> Vec<f32> {
        (0..bearers * 12).map(|at| (at / 3) as f32 + 0.5 * (at % 3) as f32).collect()
    }

    #[test]
    fn each_outcome_is_compared_with_its_bearer_at_its_point() {
        let (served, actual) = (forecasts(BEARERS), [9.0, 10.5, 1.5, 3.2]);
        let past = Past { served: &served, model: &served, warm: &[true, false, true] };
        // Bearers 2 and 0 at points 0 and 1.
        let due = [
            Due { point: 0, rows: 1, then: Index::Each(&[2]), past },
            Due { point: 1, rows: 1, then: Index::Each(&[0]), past },
        ];
        let mut all = All::new();
        let update = all.compare(Index::Each(&[2, 0]), &actual, &due).unwrap();
        assert_eq!((all.checked, update.outcomes), ([1; 4], 4));
        // Of bearer 2 at point 0 intervals begin at 8 and 10, of bearer 0 at point 1 at 1 and 3; they
        // are 1 wide.
        assert_eq!(all.covered, [1; 4]);

        // By parts.
        let mut parts = All::new();
        let mut coverage =
            Coverage { points: 2, checked: &mut parts.checked, covered: &mut parts.covered };
        let at = |bearer: usize, point: usize| {
            let of = |quantity: usize| (bearer * 4 + quantity * 2 + point) * 3;
            [0, 1].map(|quantity| &served[of(quantity)..][..3]).concat()
        };
        let own = [at(2, 0), at(0, 1)].concat();
        let outcomes = Outcomes { rows: 2, actual: &actual, counts: &[] };
        let (slots, points) = (Index::Each(&[2, 0]), Index::Each(&[0, 1]));
        coverage.learn(points, &outcomes, &own).unwrap();
        let checked = Checked { model: &own, warm: &[true, true] };
        let losses = parts.mix.learn(slots, points, &outcomes, 3, &checked).unwrap();
        assert_eq!(parts.skill.learn(slots, points, 2, &losses, 3_000).unwrap(), update);
        assert_eq!(parts.state(), all.state());
    }

    #[test]
    fn what_does_not_match_is_named_and_changes_nothing() {
        let (served, actual) = (forecasts(2), [1.0; 4]);
        let past = Past { served: &served, model: &[], warm: &[true; 2] };
        let one = Due { point: 1, rows: 2, then: Index::From(0), past };
        let other = Past { served: &served[1..], ..past };
        let mut all = All::new();
        let before = all.state();
        for (slots, due, problem) in [
            (Index::From(0), vec![Due { then: Index::From(1), ..one }], "then of row 1 is 2, of 2"),
            (Index::From(0), vec![Due { point: 2, ..one }], "point of row 0 is 2, of 2"),
            (Index::From(0), vec![Due { past: other, ..one }], "served has length 23, for 2 rows"),
            (Index::From(0), vec![one, one], "due has length 4, for 2 rows"),
            (Index::From(2), vec![one], "slots of row 1 is 3, of 3"),
        ] {
            assert_eq!(all.compare(slots, &actual, &due).unwrap_err().to_string(), problem);
        }
        assert_eq!(all.state(), before);
    }
}
