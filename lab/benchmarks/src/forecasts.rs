//! Reports of 256 bearers to the mix of forecasts: what is served, and what is learned from outcomes.

use std::hint::black_box;

use rlc_native::{
    ArrayError, Checked, Index, Mix, ModelOutput, Newest, Outcomes, PointTimes, Quantities,
};

use crate::Load;
use crate::packet::spread;

pub(crate) const NAME: &str = "forecasts_256_bearers";

const BEARERS: usize = 256;
/// Occupancy, drain and queue limit.
const QUANTITIES: usize = 3;
const LEVELS: [f32; 3] = [0.1, 0.5, 0.9];
/// Reports ahead, and those whose mean the drain is, as in the default model.
const AHEAD: [i64; 20] =
    [11, 12, 13, 14, 15, 16, 18, 20, 22, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100];
const SPANS: [i64; AHEAD.len()] = [1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 5, 5, 5, 5, 5, 10, 10, 10, 10, 10];
/// Bearers whose outcomes are taken in after a report, as in the forecaster.
const LEARNED: usize = 64;

/// The mix of 256 bearers, and the output of a model for them.
pub(crate) struct Forecasts {
    mix: Mix,
    tick: i64,
    features: Vec<f32>,
    values: Vec<f32>,
    scale: Vec<f32>,
    base: Vec<f32>,
}

impl Forecasts {
    /// Bearers of which none has been reported.
    ///
    /// # Errors
    /// Axes that the mix refuses.
    pub(crate) fn new() -> Result<Self, ArrayError> {
        let columns = (0..QUANTITIES).collect();
        let quantities = Quantities { columns, rate: Some(1), limit: Some(2) };
        let points = PointTimes { ahead: AHEAD.to_vec(), spans: SPANS.to_vec() };
        let mut mix = Mix::new(quantities, LEVELS.to_vec(), points, 4)?;
        mix.grow(BEARERS);
        let series = BEARERS * QUANTITIES;
        let level = |n: usize| 0.1 * (n % LEVELS.len()) as f32 - 0.1;
        Ok(Self {
            mix,
            tick: 0,
            features: vec![0.0; series],
            values: (0..series * AHEAD.len() * LEVELS.len()).map(level).collect(),
            scale: vec![1.0; series * AHEAD.len()],
            base: vec![0.0; series],
        })
    }

    /// One report; an error would be one of this load.
    fn report(&mut self) -> Result<(), ArrayError> {
        self.tick += 1;
        for (n, (value, base)) in self.features.iter_mut().zip(&mut self.base).enumerate() {
            *value = spread(n as u64 + 977 * self.tick as u64) as f32;
            *base = *value;
        }
        let newest =
            Newest { features: &self.features, width: QUANTITIES, fresh: &[], limited: &[] };
        let output = ModelOutput {
            values: &self.values,
            scale: &self.scale,
            span: &[1_000.0; QUANTITIES],
            base: &self.base,
        };
        black_box(self.mix.forecasts(Index::From(0), self.tick, &newest, &output)?);
        let first = self.tick as usize * LEARNED % BEARERS;
        let actual = &self.features[first * QUANTITIES..][..LEARNED * QUANTITIES];
        let each = QUANTITIES * LEVELS.len();
        let checked = Checked { model: &self.values[..LEARNED * each], warm: &[true; LEARNED] };
        let point = Index::One(self.tick as isize % AHEAD.len() as isize);
        let outcomes = Outcomes { rows: LEARNED, actual, counts: &[] };
        black_box(self.mix.learn(Index::From(first), point, &outcomes, self.tick, &checked)?);
        Ok(())
    }
}

impl Load for Forecasts {
    #[allow(clippy::expect_used, reason = "a load that is refused must not pass in silence")]
    fn pass(&mut self, times: u64) {
        for _ in 0..times {
            self.report().expect("arrays that match");
        }
    }
}
