//! Losses of what is served and of the model against the best simple forecaster, and for each bearer
//! whether the model is better than persistence.

use crate::{ArrayError, Index, Losses, check};

/// Weight of the newest outcome in mean losses: a memory of about 200 outcomes.
const WEIGHT: f32 = 0.005;
/// Bounds of the sequential test (Wald 1945), in seconds of a model with twice the loss of
/// persistence: equal models change their name in minutes, one that is 50 % worse is named so after 4
/// to 8 s.
const BOUND_S: f32 = 2.0;
/// Time for which one outcome stands at most.
const LONGEST_S: f32 = 0.1;
/// Limit of one outcome's excess loss: persistence may be right by chance.
const LARGEST_EXCESS: f32 = 10.0;

/// Scores of S slots.
#[derive(Debug, Clone)]
pub struct Skill {
    points: usize,
    slots: Vec<Slot>,
    /// `(K, M)` mean losses over all slots, `[mix, best simple forecaster]`.
    by_point: Vec<[f64; 2]>,
}

/// Evidence about one bearer's model, on the first quantity, on which consumers act.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Sum over time of the excess of the model's loss over that of persistence, in the mean of the
    /// latter; between the bounds.
    evidence_s: f32,
    /// Mean loss of persistence; 0 before the first outcome.
    size: f32,
    at_us: i64,
    worse: bool,
}

impl Slot {
    const NEW: Self = Self { evidence_s: -BOUND_S, size: 0.0, at_us: i64::MIN, worse: false };
}

/// Result of [`Skill::learn`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SkillUpdate {
    /// Outcomes of forecasts of the model, of all quantities.
    pub outcomes: usize,
    /// Mean losses on the first quantity, `[model, best simple forecaster]`; 0 if no outcome is judged.
    pub loss: [f64; 2],
    /// Slots whose model was found worse than persistence.
    pub worse: usize,
    /// Slots whose model was found better again.
    pub better: usize,
}

impl Skill {
    /// No slots.
    #[must_use]
    pub fn new(quantities: usize, points: usize) -> Self {
        Self { points, slots: Vec::new(), by_point: vec![[0.0; 2]; quantities * points] }
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Room for `slots` slots.
    pub fn grow(&mut self, slots: usize) {
        self.slots.resize(slots.max(self.slots.len()), Slot::NEW);
    }

    /// A new bearer in a slot; an unknown one is ignored.
    pub fn reset(&mut self, slot: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot::NEW;
        }
    }

    /// Whether a slot's model is worse than persistence.
    #[must_use]
    pub fn is_worse(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.worse)
    }

    /// `(K, M)` mean losses, `[mix, best simple forecaster]`.
    #[must_use]
    pub fn by_point(&self) -> &[[f64; 2]] {
        &self.by_point
    }

    /// Adds the `(N, K)` losses at outcomes, as from [`crate::Mix::learn`].
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn learn(
        &mut self,
        slots: Index<'_>,
        points: Index<'_>,
        rows: usize,
        losses: &[Losses],
        at_us: i64,
    ) -> Result<SkillUpdate, ArrayError> {
        let quantities = self.by_point.len().checked_div(self.points).unwrap_or(0);
        slots.check("slots", rows, self.slots.len())?;
        points.check("point", rows, self.points)?;
        check("losses", losses.len(), rows.saturating_mul(quantities), rows)?;
        let mut update = SkillUpdate::default();
        let mut first = 0_u32;
        for row in 0..rows {
            for quantity in 0..quantities {
                let losses = losses[row * quantities + quantity];
                let ([model, persistence, ..], simple) = (losses.experts, losses.best_simple);
                if !simple.is_nan() {
                    let mean = &mut self.by_point[quantity * self.points + points.at(row)];
                    for (mean, loss) in mean.iter_mut().zip([losses.mix, simple]) {
                        *mean += f64::from(WEIGHT) * (f64::from(loss) - *mean);
                    }
                }
                if model.is_nan() || persistence.is_nan() {
                    continue;
                }
                update.outcomes += 1;
                if quantity == 0 {
                    self.slots[slots.at(row)].decide(model, persistence, at_us, &mut update);
                    if !simple.is_nan() {
                        first += 1;
                        update.loss[0] += f64::from(model);
                        update.loss[1] += f64::from(simple);
                    }
                }
            }
        }
        update.loss = update.loss.map(|sum| sum / f64::from(first.max(1)));
        Ok(update)
    }
}

impl Slot {
    fn decide(&mut self, model: f32, persistence: f32, at_us: i64, update: &mut SkillUpdate) {
        let weight = if self.size > 0.0 { WEIGHT } else { 1.0 };
        self.size += weight * (persistence - self.size);
        let elapsed_s = (at_us.saturating_sub(self.at_us) as f32 / 1e6).clamp(0.0, LONGEST_S);
        self.at_us = at_us;
        if self.size <= 0.0 {
            return;
        }
        let excess = ((model - persistence) / self.size).clamp(-LARGEST_EXCESS, LARGEST_EXCESS);
        self.evidence_s = (self.evidence_s + elapsed_s * excess).clamp(-BOUND_S, BOUND_S);
        if !self.worse && self.evidence_s >= BOUND_S {
            self.worse = true;
            update.worse += 1;
        } else if self.worse && self.evidence_s <= -BOUND_S {
            self.worse = false;
            update.better += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(model: f32, persistence: f32) -> [Losses; 1] {
        [Losses {
            experts: [model, persistence, 0.0, 0.0, 0.0],
            mix: 1.0,
            best_simple: 3.0,
            ..Losses::UNKNOWN
        }]
    }

    /// Time in ms until the name of the model changes.
    fn time_to_change(skill: &mut Skill, from_ms: i64, model: f32) -> Option<i64> {
        (from_ms..from_ms + 60_000).find(|ms| {
            let (slot, point, losses) = (Index::From(0), Index::One(0), losses(model, 1.0));
            let update = skill.learn(slot, point, 1, &losses, ms * 1_000).unwrap();
            update.worse + update.better > 0
        })
    }

    #[test]
    fn a_model_changes_its_name_after_seconds_of_evidence() {
        let mut skill = Skill::new(1, 1);
        skill.grow(1);
        let worse = time_to_change(&mut skill, 0, 1.5).unwrap();
        assert!((7_000..9_000).contains(&worse), "{worse}");
        assert!(skill.is_worse(0));
        let better = time_to_change(&mut skill, worse, 0.5).unwrap() - worse;
        assert!((7_000..9_000).contains(&better), "{better}");
        assert_eq!(time_to_change(&mut skill, 100_000, 1.0), None);
        assert!(!skill.is_worse(0) && !skill.is_worse(9));
    }

    #[test]
    fn unknown_losses_are_no_evidence_and_means_are_by_point() {
        let mut skill = Skill::new(2, 2);
        skill.grow(1);
        let [known] = losses(2.0, 4.0);
        let [unknown] = losses(f32::NAN, 4.0);
        let not_judged = Losses { best_simple: f32::NAN, ..known };
        let found = skill.learn(Index::From(0), Index::One(1), 1, &[unknown, known], 0).unwrap();
        assert_eq!(found, SkillUpdate { outcomes: 1, ..SkillUpdate::default() });
        let found = skill.learn(Index::From(0), Index::One(0), 1, &[not_judged; 2], 0).unwrap();
        assert_eq!(found, SkillUpdate { outcomes: 2, ..SkillUpdate::default() });
        assert_eq!(
            skill.by_point().iter().map(|mean| mean[0] > 0.0).collect::<Vec<_>>(),
            [false, true, false, true],
            "what is served is judged without a model as well"
        );
        assert_eq!(skill.by_point()[3], [1.0, 3.0].map(|loss| loss * f64::from(WEIGHT)));
        let refused = skill.learn(Index::From(1), Index::One(1), 1, &[known, known], 0);
        assert_eq!(refused.unwrap_err().to_string(), "slots of row 0 is 1, of 1");
    }
}
