//! Weights of experts by their recent losses.

/// Experts of a mix.
pub const EXPERTS: usize = 5;

/// What the experts weigh before any outcome: model, persistence, seasonal, ridge, window.
pub(crate) const PRIOR: Weights = [0.62, 0.15, 0.05, 0.15, 0.03];
/// Outcomes of a point over which the typical regret, the root of the mean square, is taken.
const MEMORY: u8 = 100;
/// Limit of a regret; its square is finite.
const LARGEST: f32 = 1e18;

/// Weights of the experts; their sum is 1.
pub(crate) type Weights = [f32; EXPERTS];

/// Experts with less weight are left out of the mix: what they would add costs time.
const LEAST: f32 = 1e-3;

/// The weights at a point of the experts that have a forecast, but those that hardly count; their sum
/// is 1. They are the products of what points have in common and of what distinguishes one.
pub(crate) fn that_count(common: &Weights, are: &[bool; EXPERTS], point: &Weights) -> Weights {
    let each: Weights =
        std::array::from_fn(|at| if are[at] { common[at] * point[at] } else { 0.0 });
    let least = LEAST * each.iter().sum::<f32>();
    let kept = each.map(|weight| if weight < least { 0.0 } else { weight });
    let share = 1.0 / kept.iter().sum::<f32>();
    kept.map(|weight| weight * share)
}

/// Points that [`of_points`] takes at a time.
pub(crate) const LANES: usize = 4;

/// [`that_count`] of some points: `(expert, LANES)` factors in, weights out.
#[inline]
pub(crate) fn of_points(
    common: &Weights,
    are: &[bool; EXPERTS],
    factors: &[[f32; LANES]; EXPERTS],
) -> [[f32; LANES]; EXPERTS] {
    // Experts that are not have the weight 0, whatever their factor.
    let common: Weights = std::array::from_fn(|at| if are[at] { common[at] } else { 0.0 });
    let mut each = *factors;
    for (each, common) in each.iter_mut().zip(common) {
        each.iter_mut().for_each(|weight| *weight *= common);
    }
    let sum = |each: &[[f32; LANES]; EXPERTS]| -> [f32; LANES] {
        std::array::from_fn(|lane| each.iter().map(|of| of[lane]).sum())
    };
    let least = sum(&each).map(|sum| LEAST * sum);
    for of in &mut each {
        for (weight, least) in of.iter_mut().zip(least) {
            *weight = if *weight < least { 0.0 } else { *weight };
        }
    }
    let share = sum(&each).map(|sum| 1.0 / sum);
    for of in &mut each {
        of.iter_mut().zip(share).for_each(|(weight, share)| *weight *= share);
    }
    each
}

/// How far an outcome moves weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Per typical regret: the best for n outcomes is of the order of one over their root.
    step: f32,
    /// Share of the prior in the weights after an outcome (fixed share; Herbster and Warmuth 1998):
    /// a useless expert keeps `share / step` of its prior, and is back after about `ln(step / share) /
    /// step` outcomes.
    share: f32,
}

impl Rate {
    /// The rate of what `points` have in common, which has the outcomes of all.
    ///
    /// It cannot rule an expert out: that is for the outcomes of a point, which may contradict those
    /// of the others. Of a queue with a period, persistence is exact at its multiples alone.
    pub(crate) fn of_common(points: usize) -> Self {
        Self::new(1.0 / (f32::from(MEMORY) * points.max(1) as f32).sqrt(), 1e-2)
    }

    fn of_point() -> Self {
        Self::new(1.0 / f32::from(MEMORY).sqrt(), 1e-5)
    }

    fn new(step: f32, least: f32) -> Self {
        Self { step, share: least * step }
    }
}

/// What distinguishes a point of a quantity of a slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// Factors of the common weights.
    pub(crate) factors: Weights,
    /// Mean squares of the regrets.
    squares: [f32; EXPERTS],
    outcomes: u8,
}

impl Point {
    pub(crate) const NEW: Self = Self { factors: EQUAL, squares: [0.0; EXPERTS], outcomes: 0 };

    /// Updates the common weights and the factors of this point by the regrets at an outcome: the
    /// loss of the mix less that of each expert; None of an expert that made no forecast. `rate` is that
    /// of the common weights.
    ///
    /// The rule is that of Bernstein online aggregation (Wintenberger 2017): exponential weights with
    /// a second-order term, and rates of each expert in its own typical regret, so that nothing depends
    /// on the unit of losses. Experts without a forecast keep their weight (Freund et al. 1997).
    pub(crate) fn learn(
        &mut self,
        common: &mut Weights,
        rate: Rate,
        regrets: &[Option<f32>; EXPERTS],
    ) {
        let typical = self.in_typical(regrets);
        update(common, &typical, rate, &PRIOR);
        update(&mut self.factors, &typical, Rate::of_point(), &EQUAL);
    }

    /// Updates the factors of a point that has nothing in common with others.
    pub(crate) fn learn_alone(&mut self, regrets: &[f32; EXPERTS]) {
        let typical = self.in_typical(&regrets.map(Some));
        update(&mut self.factors, &typical, Rate::of_point(), &EQUAL);
    }

    /// Regrets in the typical one of each expert, which they update.
    fn in_typical(&mut self, regrets: &[Option<f32>; EXPERTS]) -> [Option<f32>; EXPERTS] {
        self.outcomes = (self.outcomes + 1).min(MEMORY);
        let newest = 1.0 / f32::from(self.outcomes);
        let mut typical = [None; EXPERTS];
        for ((typical, square), regret) in typical.iter_mut().zip(&mut self.squares).zip(regrets) {
            let Some(regret) = regret else { continue };
            let regret = if regret.is_nan() { 0.0 } else { regret.clamp(-LARGEST, LARGEST) };
            *square += newest * (regret * regret - *square);
            *typical = Some(if *square > 0.0 { regret / square.sqrt() } else { 0.0 });
        }
        typical
    }
}

/// No expert before another.
const EQUAL: Weights = [1.0 / EXPERTS as f32; EXPERTS];

fn update(weights: &mut Weights, typical: &[Option<f32>; EXPERTS], rate: Rate, prior: &Weights) {
    let (mut before, mut after) = (0.0, 0.0);
    for (weight, typical) in weights.iter_mut().zip(typical) {
        if let Some(typical) = typical {
            before += *weight;
            let step = rate.step * typical;
            *weight *= (step - (step * step).min(step.abs())).exp();
            after += *weight;
        }
    }
    for ((weight, typical), prior) in weights.iter_mut().zip(typical).zip(prior) {
        if typical.is_some() {
            *weight *= before / after;
        }
        *weight += rate.share * (prior - *weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(common: &Weights, point: &Weights) -> Weights {
        that_count(common, &[true; EXPERTS], point)
    }

    /// All experts but the model.
    const NAIVE: [bool; EXPERTS] = [false, true, true, true, true];

    fn after(
        point: &mut Point,
        common: &mut Weights,
        outcomes: usize,
        regrets: [f32; EXPERTS],
    ) -> Weights {
        (0..outcomes).for_each(|_| point.learn(common, Rate::of_common(1), &regrets.map(Some)));
        product(common, &point.factors)
    }

    #[test]
    fn weight_moves_to_the_expert_with_the_least_loss_and_back() {
        for unit in [1e-3, 1.0, 1e6] {
            let (mut point, mut common) = (Point::NEW, PRIOR);
            let regrets = [-0.5, 0.0, 0.3, -0.1, -0.2].map(|regret| regret * unit);
            assert!(after(&mut point, &mut common, 200, regrets)[2] > 0.9);
            let regrets = [0.5, 0.0, -0.3, -0.1, -0.2].map(|regret| regret * unit);
            let weights = after(&mut point, &mut common, 200, regrets);
            assert!(weights[0] > 0.9, "{weights:?}");
            assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn a_point_differs_from_what_points_have_in_common() {
        let (mut near, mut far, mut common) = (Point::NEW, Point::NEW, PRIOR);
        for _ in 0..500 {
            near.learn(
                &mut common,
                Rate::of_common(2),
                &[Some(1.0), Some(-1.0), Some(-1.0), Some(-1.0), Some(-1.0)],
            );
            far.learn(
                &mut common,
                Rate::of_common(2),
                &[Some(-1.0), Some(1.0), Some(-1.0), Some(-1.0), Some(-1.0)],
            );
        }
        assert!(product(&common, &near.factors)[0] > 0.9, "{common:?} {near:?}");
        assert!(product(&common, &far.factors)[1] > 0.9, "{common:?} {far:?}");
    }

    #[test]
    fn one_point_against_nineteen_has_its_own_expert() {
        for (best, of_one) in [(0, 1), (1, 0), (2, 1), (3, 0), (4, 3)] {
            let mut points = [Point::NEW; 20];
            let mut common = PRIOR;
            let regrets = |best: usize, weights: &Weights| -> [Option<f32>; EXPERTS] {
                std::array::from_fn(|expert| {
                    let losses = |expert| if expert == best { 0.0 } else { 1.0 };
                    let mix: f32 = (0..EXPERTS).map(|one| weights[one] * losses(one)).sum();
                    Some(mix - losses(expert))
                })
            };
            for outcome in 0..20 * 400 {
                let at = outcome % 20;
                let best = if at == 7 { of_one } else { best };
                let now = regrets(best, &product(&common, &points[at].factors));
                points[at].learn(&mut common, Rate::of_common(20), &now);
            }
            for (at, point) in points.iter().enumerate() {
                let best = if at == 7 { of_one } else { best };
                let weights = product(&common, &point.factors);
                assert!(weights[best] > 0.99, "{at}: {weights:?}, common {common:?}");
            }
        }
    }

    #[test]
    fn without_regret_the_prior_stays() {
        let (mut point, mut common) = (Point::NEW, PRIOR);
        let weights = after(&mut point, &mut common, 100, [0.0; EXPERTS]);
        for (weight, prior) in weights.iter().zip(PRIOR) {
            assert!((weight - prior).abs() < 1e-5);
        }
        let naive = that_count(&common, &NAIVE, &point.factors);
        assert!((naive[1] - 0.15 / 0.38).abs() < 1e-5 && naive[0] == 0.0);
    }

    #[test]
    fn an_expert_without_a_forecast_keeps_its_weight() {
        let (mut point, mut common) = (Point::NEW, PRIOR);
        for _ in 0..300 {
            point.learn(
                &mut common,
                Rate::of_common(1),
                &[None, Some(-1.0), Some(1.0), Some(-1.0), Some(-1.0)],
            );
        }
        assert!((common[0] - PRIOR[0]).abs() < 1e-5, "{common:?}");
        assert!(that_count(&common, &NAIVE, &point.factors)[2] > 0.9, "{common:?}");
    }

    #[test]
    fn weights_stay_finite_with_extreme_regrets() {
        let (mut point, mut common) = (Point::NEW, PRIOR);
        for regret in [1e30, -1e30, 1e-30, 0.0, f32::NAN, f32::INFINITY, 1e19, -1e19] {
            point.learn(
                &mut common,
                Rate::of_common(1),
                &[regret, -regret, 0.0, regret, 0.0].map(Some),
            );
            let weights = product(&common, &point.factors);
            assert!(weights.iter().all(|weight| weight.is_finite()), "{regret}: {weights:?}");
        }
    }
}
