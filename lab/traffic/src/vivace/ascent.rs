//! The next rate by the gradient of the utility: §4.2 of the paper.

/// Mbit/s per unit of gradient, θ₀.
const STEP: f64 = 1.0;
/// First bound of a change as a share of the rate, ω.
const BOUNDARY: f64 = 0.05;
/// What the bound grows by each time it is hit in a row, δ.
const BOUNDARY_INCREMENT: f64 = 0.1;
/// Reversals that the swing buffer remembers.
const MAX_SWINGS: u32 = 2;
/// Confidence up to which the amplifier grows by one.
const SLOW_CONFIDENCE: u32 = 3;

/// Scale of a step, from the directions and sizes of the steps before.
#[derive(Debug, Clone, Default)]
pub struct Ascent {
    /// Sign of the step before: −1, 0 or 1.
    direction: f64,
    /// Steps in a row that went the same way, τ.
    confidence: u32,
    /// Steps in a row that hit the boundary, k.
    boundary_hits: u32,
    /// Steps in one direction still needed before confidence counts again.
    swings: u32,
}

impl Ascent {
    /// m(τ): τ up to 3, then 2 τ − 3; at least 1.
    fn amplifier(&self) -> f64 {
        let tau = self.confidence.max(1);
        f64::from(if tau <= SLOW_CONFIDENCE { tau } else { 2 * tau - 3 })
    }

    /// The rate after `rate_mbps` when the utility changes by `gradient` per Mbit/s.
    pub fn step(&mut self, rate_mbps: f64, gradient: f64) -> f64 {
        let direction = if gradient == 0.0 { 0.0 } else { gradient.signum() };
        if direction != self.direction {
            if self.direction * direction < 0.0 {
                self.swings = (self.swings + 1).min(MAX_SWINGS);
            }
            self.confidence = 0;
            self.boundary_hits = 0;
        }
        if self.swings > 0 && direction == self.direction {
            self.swings -= 1;
        } else if self.swings == 0 {
            self.confidence += 1;
        }
        self.direction = direction;

        let wanted = self.amplifier() * STEP * gradient;
        // ω = ω₀ + k δ, and k falls back to what the present change needs.
        let boundary = BOUNDARY + f64::from(self.boundary_hits) * BOUNDARY_INCREMENT;
        let share = (wanted / rate_mbps).abs();
        if share > boundary {
            self.boundary_hits += 1;
            return rate_mbps * (1.0 + boundary * direction);
        }
        let needed = ((share - BOUNDARY) / BOUNDARY_INCREMENT).ceil().max(0.0);
        self.boundary_hits = self.boundary_hits.min(needed as u32);
        rate_mbps + wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_amplifies_steps_in_one_direction() {
        let mut ascent = Ascent::default();
        let mut rate = 1_000.0;
        let steps: Vec<f64> = (0..6)
            .map(|_| {
                let next = ascent.step(rate, 1.0);
                let step = next - rate;
                rate = next;
                step
            })
            .collect();
        assert_eq!(steps, [1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    }

    #[test]
    fn the_boundary_opens_while_it_is_hit_and_closes_again() {
        let mut ascent = Ascent::default();
        assert!((ascent.step(10.0, 100.0) - 10.5).abs() < 1e-9, "5 %");
        assert!((ascent.step(10.0, 100.0) - 11.5).abs() < 1e-9, "15 %");
        assert!((ascent.step(10.0, 100.0) - 12.5).abs() < 1e-9, "25 %");
        assert!((ascent.step(10.0, -100.0) - 9.5).abs() < 1e-9, "5 % after a reversal");
    }

    #[test]
    fn after_a_swing_confidence_has_to_be_earned_again() {
        let mut ascent = Ascent::default();
        (0..5).for_each(|_| {
            ascent.step(1_000.0, 1.0);
        });
        let steps: Vec<f64> = (0..4).map(|_| 1_000.0 - ascent.step(1_000.0, -1.0)).collect();
        // The reversal, one step that empties the swing buffer, then as from the start.
        assert_eq!(steps, [1.0, 1.0, 1.0, 2.0]);
    }

    #[test]
    fn no_gradient_is_no_step() {
        assert_eq!(Ascent::default().step(5.0, 0.0), 5.0);
    }
}
