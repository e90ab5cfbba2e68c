//! Schemes: how the CU learns the state of the RLC, each a scenario with an optional RIC.

use serde_json::{Value, json};
use tc_rf::templates::{CodelParameters, DrqlForecast, LowLatency};

use super::super::super::{
    At, Cell, ForecasterKind, Forecasts, ReproduceError, ScenarioBuilder, Trained,
};
use super::{START_S, T_C_US};
use lab_forecast::{FeedQuantity, Timing};

/// Age after which the CU ignores a forecast. At the paper's delays the newest sample of a forecast in
/// use is up to 810 ms old.
const STALE_US: u32 = 1_000_000;

/// A change to every scenario of an experiment, the recorded monolithic one included.
pub(super) type Change = fn(ScenarioBuilder) -> Result<ScenarioBuilder, ReproduceError>;

/// A forecaster.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Perfect,
    Late,
    Persistence,
    TrueFuture,
    /// Share of the capacity that may be lost, in thousandths.
    Marginal(u32),
    Trained(&'a Trained),
}

/// A scheme: a scenario, or why it cannot be run.
pub(super) enum Scheme {
    Run(Box<ScenarioBuilder>),
    Missing(String),
}

impl Scheme {
    pub(super) fn cell(self, name: impl Into<String>) -> Cell {
        match self {
            Self::Run(builder) => builder.cell(name),
            Self::Missing(why) => Cell::missing(name, why),
        }
    }

    /// The cell of a scheme in a sweep.
    pub(super) fn cell_at(self, name: String, series: String, x: f64) -> Cell {
        Cell { at: Some(At { series, x }), ..self.cell(name) }
    }
}

/// A scheme with its name.
pub(super) type Named = (String, Scheme);

/// Schemes under one condition.
#[derive(Clone, Copy)]
pub(super) struct Schemes<'a> {
    pub(super) trained: Option<&'a Trained>,
    pub(super) t_c_us: u32,
    /// Number of bearers forecast at a time.
    pub(super) bearers: u32,
    /// The radio in place of a constant one.
    pub(super) channel: Option<&'a Value>,
    pub(super) change: Change,
}

impl<'a> Schemes<'a> {
    /// T_c of the paper, one UE.
    pub(super) fn of_paper(trained: Option<&'a Trained>) -> Self {
        Self { trained, t_c_us: T_C_US, bearers: 1, channel: None, change: Ok }
    }

    pub(super) fn monolithic(self) -> Self {
        Self { t_c_us: 0, ..self }
    }

    pub(super) fn original(self) -> Result<Scheme, ReproduceError> {
        let yaml = include_str!("../../../../scenarios/stolidis2024/original.yaml");
        let builder = ScenarioBuilder::from_yaml("original.yaml", yaml)?
            .set("split.f1_delay_us", self.t_c_us)?;
        Ok(Scheme::Run(Box::new(self.changed(builder)?)))
    }

    fn changed(self, builder: ScenarioBuilder) -> Result<ScenarioBuilder, ReproduceError> {
        let builder = match self.channel {
            Some(channel) => builder.set("ues[0].channel", channel.clone())?,
            None => builder,
        };
        Ok((self.change)(builder)?.observed_from_s(START_S))
    }

    /// DRQL, with RLC status from the DU `each_slot`, `on_request` or `never`.
    pub(super) fn drql(self, rlc_status: &str) -> Result<Scheme, ReproduceError> {
        Ok(Scheme::Run(Box::new(self.drql_builder(rlc_status)?)))
    }

    fn drql_builder(self, rlc_status: &str) -> Result<ScenarioBuilder, ReproduceError> {
        let yaml = include_str!("../../../../scenarios/stolidis2024/drql.yaml");
        let builder = ScenarioBuilder::from_yaml("drql.yaml", yaml)?
            .set("split.f1_delay_us", self.t_c_us)?
            .set("split.f1.rlc_status", rlc_status)?;
        self.changed(builder)
    }

    /// The template `low_latency`, by which the MAC pulls packets just in time.
    pub(super) fn low_latency(self) -> Result<Scheme, ReproduceError> {
        let pipeline = json!(LowLatency::default().pipeline());
        let builder = self.drql_builder("each_slot")?;
        let builder = each_drb(builder, |drb| drb["pipeline"] = pipeline.clone())?;
        Ok(Scheme::Run(Box::new(builder)))
    }

    /// Forecasters by name.
    fn forecasters(self) -> Vec<(&'static str, Source<'a>)> {
        let mut all = vec![
            ("perfect", Source::Perfect),
            ("400 ms late", Source::Late),
            ("persistence", Source::Persistence),
        ];
        all.extend(self.trained.map(|trained| ("trained model", Source::Trained(trained))));
        all
    }

    /// The third set, "the DU is not involved", by each forecaster: the CU source limit and occupancy
    /// as forecast, the RLC drops what comes beyond its limit.
    pub(super) fn forecast_alone(self) -> Result<Vec<Named>, ReproduceError> {
        let builder = self.paced_by_forecast("never")?;
        let builder = each_drb(builder, |drb| drb["rlc"]["drql_limit"] = true.into())?;
        self.with_each(&builder, FeedQuantity::Limit)
    }

    /// The paper's queues above a forecast pacer.
    fn paced_by_forecast(self, rlc_status: &str) -> Result<ScenarioBuilder, ReproduceError> {
        each_drb(self.drql_builder(rlc_status)?, |drb| {
            let pipeline = &mut drb["pipeline"];
            pipeline["name"] = "forecast".into();
            pipeline["pacer"] = json!({ "forecast": { "stale_us": STALE_US } });
        })
    }

    /// The scheme of [`with_status`](Self::with_status), with the paper's queues.
    fn with_status_and_fifos(self) -> Result<Scheme, ReproduceError> {
        Ok(Scheme::Run(Box::new(self.paced_by_forecast("each_slot")?)))
    }

    /// The CU receives RLC status each TTI and counts the packets on F1-U; no forecast.
    pub(super) fn with_status(self) -> Result<Scheme, ReproduceError> {
        Ok(Scheme::Run(Box::new(self.with_status_builder()?)))
    }

    /// Schemes with RLC status and a drain forecast, by each forecaster.
    pub(super) fn with_status_and_drain(self) -> Result<Vec<Named>, ReproduceError> {
        self.with_each(&self.with_status_builder()?, FeedQuantity::Drain)
    }

    /// The scheme with RLC status and perfect forecasts of limit and occupancy.
    pub(super) fn with_status_and_limit(self) -> Result<Scheme, ReproduceError> {
        self.with(&self.with_status_builder()?, Source::Perfect, FeedQuantity::Limit)
    }

    /// RLC status each TTI, with queues and scheduler of the template `drql_forecast` for this T_c.
    fn with_status_builder(self) -> Result<ScenarioBuilder, ReproduceError> {
        let codel = CodelParameters::default().across_f1(self.t_c_us);
        let template = DrqlForecast { stale_us: STALE_US, codel, ..DrqlForecast::default() };
        let pipeline = json!(template.pipeline());
        let builder = self.drql_builder("each_slot")?;
        each_drb(builder, |drb| drb["pipeline"] = pipeline.clone())
    }

    fn with_each(
        self,
        builder: &ScenarioBuilder,
        quantity: FeedQuantity,
    ) -> Result<Vec<Named>, ReproduceError> {
        let each = self.forecasters().into_iter();
        each.map(|(name, source)| Ok((name.to_owned(), self.with(builder, source, quantity)?)))
            .collect()
    }

    /// The scheme with RLC status and a forecast of the drain, or of drain and limit, by one
    /// forecaster.
    pub(super) fn with_status_and(
        self,
        source: Source<'_>,
        quantity: FeedQuantity,
    ) -> Result<Scheme, ReproduceError> {
        self.with(&self.with_status_builder()?, source, quantity)
    }

    fn with(
        self,
        builder: &ScenarioBuilder,
        source: Source<'_>,
        quantity: FeedQuantity,
    ) -> Result<Scheme, ReproduceError> {
        let (forecaster, timing) = match source {
            Source::Perfect => {
                let recorded = self.monolithic().drql_builder("each_slot")?.scenario();
                let perfect = ForecasterKind::Perfect(Box::new(recorded));
                (perfect, Timing::stolidis2024(self.t_c_us))
            }
            Source::Late => (ForecasterKind::Late, Timing::stolidis2024(self.t_c_us)),
            Source::Persistence => (ForecasterKind::Persistence, Timing::at_once(self.t_c_us)),
            Source::TrueFuture => (ForecasterKind::TrueFuture, self.status_to_arrival()),
            Source::Marginal(lost_milli) => {
                let from_us = (START_S * 1e6) as u64;
                let lead_us = 2 * u64::from(self.t_c_us);
                let marginal = ForecasterKind::Marginal { from_us, lead_us, lost_milli };
                (marginal, self.status_to_arrival())
            }
            Source::Trained(trained) => match self.trained_timing(trained, quantity) {
                Ok(timing) => (ForecasterKind::Trained(Box::new(trained.clone())), timing),
                Err(why) => return Ok(Scheme::Missing(why)),
            },
        };
        let forecasts = Forecasts { forecaster, timing, quantity };
        Ok(Scheme::Run(Box::new(builder.clone().with_forecasts(forecasts))))
    }

    /// A forecast each ms without T_m, whose points reach from the status of the RLC that the CU has
    /// to the TTI after the arrival of what it sends: 2·T_c and two TTIs.
    fn status_to_arrival(self) -> Timing {
        let timing = Timing::at_once(self.t_c_us);
        let length_us = 2 * (self.t_c_us + timing.sample_us);
        let step_ttis = length_us.div_ceil(timing.points * timing.sample_us).max(1);
        let step_us = step_ttis * timing.sample_us;
        Timing { first_point_us: step_us, step_us, ..timing }
    }

    /// T_m as measured and the model's points, or why it cannot be used.
    fn trained_timing(self, trained: &Trained, quantity: FeedQuantity) -> Result<Timing, String> {
        let hello = &trained.hello;
        let name = match quantity {
            FeedQuantity::Limit => "LIMIT_BYTES",
            FeedQuantity::Drain | FeedQuantity::DrainAndLimit => "DRAIN_BYTES",
        };
        if !hello.forecasts("OCCUPANCY_BYTES") || !hello.forecasts(name) {
            return Err(format!(
                "{} forecasts {}; expected OCCUPANCY_BYTES and {name}",
                hello.model,
                hello.quantities.join(", ")
            ));
        }
        let Some(inference_us) = trained.t_m_us(self.bearers) else {
            return Err(format!("T_m of {} for {} bearers is unknown", hello.model, self.bearers));
        };
        let Some(feed) = hello.feed() else {
            return Err(format!("{} has points at {:?} µs", hello.model, hello.points_us));
        };
        Ok(Timing {
            inference_us,
            first_point_us: feed.start_us(),
            step_us: feed.step_us(),
            points: feed.points(),
            ..Timing::stolidis2024(self.t_c_us)
        })
    }

    /// All schemes, by name of the series.
    pub(super) fn all(self) -> Result<Vec<Named>, ReproduceError> {
        let mut all = vec![
            ("original".to_owned(), self.original()?),
            ("DRQL, asking the DU".to_owned(), self.drql("on_request")?),
            ("DRQL, status each TTI".to_owned(), self.drql("each_slot")?),
        ];
        let named = |what: &'static str| move |(name, scheme)| (format!("{what}, {name}"), scheme);
        all.extend(self.forecast_alone()?.into_iter().map(named("forecast")));
        all.push(("status each TTI, FIFOs".to_owned(), self.with_status_and_fifos()?));
        all.push(("status each TTI".to_owned(), self.with_status()?));
        all.push(("status and limit forecast, perfect".to_owned(), self.with_status_and_limit()?));
        all.extend(
            self.with_status_and_drain()?.into_iter().map(named("status and drain forecast")),
        );
        Ok(all)
    }
}

/// Changes the DRB of each UE.
fn each_drb(
    builder: ScenarioBuilder,
    change: impl Fn(&mut Value),
) -> Result<ScenarioBuilder, ReproduceError> {
    let mut ues = builder.get("/ues");
    ues.as_array_mut().into_iter().flatten().for_each(|ue| change(&mut ue["drbs"][0]));
    builder.set("ues", ues)
}
