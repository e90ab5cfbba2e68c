//! Ways of knowing the RLC, each a scenario with a RIC beside it.

use serde_json::json;
use tc_rf::templates::{CodelParameters, DrqlForecast};

use super::super::super::{
    At, Cell, ForecasterKind, Forecasts, ReproduceError, Sketch, Trained, Work,
};
use super::{START_S, T_C_US};
use lab_forecast::{Tells, Timing};

/// Without a newer forecast for this long the CU paces by itself. At the paper's times the newest
/// sample of a forecast in use is up to 810 ms old.
const STALE_US: u32 = 1_000_000;

/// A change to every scenario of an experiment, the monolithic one that is forecast included.
type Change = fn(Sketch) -> Result<Sketch, ReproduceError>;

/// What forecasts.
#[derive(Clone, Copy)]
enum Knows<'a> {
    Future,
    LongAgo,
    Now,
    Trained(&'a Trained),
}

/// A scheme: a scenario, or why there is none.
pub(super) enum Scheme {
    Run(Box<Sketch>),
    Missing(String),
}

impl Scheme {
    pub(super) fn cell(self, name: impl Into<String>) -> Cell {
        match self {
            Self::Run(sketch) => sketch.cell(name),
            Self::Missing(why) => Cell { scheme: name.into(), work: Work::Missing(why), at: None },
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
    /// How many bearers are forecast at a time.
    pub(super) bearers: u32,
    pub(super) change: Change,
}

impl<'a> Schemes<'a> {
    /// T_c of the paper, one UE.
    pub(super) fn of_paper(trained: Option<&'a Trained>) -> Self {
        Self { trained, t_c_us: T_C_US, bearers: 1, change: Ok }
    }

    pub(super) fn monolithic(self) -> Self {
        Self { t_c_us: 0, ..self }
    }

    pub(super) fn original(self) -> Result<Scheme, ReproduceError> {
        let yaml = include_str!("../../../../scenarios/stolidis2024/original.yaml");
        let sketch = Sketch::of("original.yaml", yaml)?.set("split.f1_delay_us", self.t_c_us)?;
        Ok(Scheme::Run(Box::new((self.change)(sketch)?.observed_from_s(START_S))))
    }

    /// DRQL, with the DU telling the CU `each_slot`, `on_request` or `never`.
    pub(super) fn drql(self, told: &str) -> Result<Scheme, ReproduceError> {
        Ok(Scheme::Run(Box::new(self.drql_sketch(told)?)))
    }

    fn drql_sketch(self, told: &str) -> Result<Sketch, ReproduceError> {
        let yaml = include_str!("../../../../scenarios/stolidis2024/drql.yaml");
        let sketch = Sketch::of("drql.yaml", yaml)?
            .set("split.f1_delay_us", self.t_c_us)?
            .set("split.f1.rlc_status", told)?;
        Ok((self.change)(sketch)?.observed_from_s(START_S))
    }

    /// What there is to forecast with, and its names.
    fn forecasters(self) -> Vec<(&'static str, Knows<'a>)> {
        let mut all = vec![
            ("perfect", Knows::Future),
            ("400 ms late", Knows::LongAgo),
            ("persistence", Knows::Now),
        ];
        all.extend(self.trained.map(|trained| ("trained model", Knows::Trained(trained))));
        all
    }

    /// The third set, "the DU is not involved", by each forecaster: the CU knows limit and occupancy
    /// as forecast, the RLC drops what comes beyond its limit.
    pub(super) fn forecast_alone(self) -> Result<Vec<Named>, ReproduceError> {
        let sketch = self.paced_by_forecast("never")?;
        let mut ues = sketch.get("/ues");
        for ue in ues.as_array_mut().into_iter().flatten() {
            ue["drbs"][0]["rlc"]["drql_limit"] = true.into();
        }
        let sketch = sketch.set("ues", ues)?;
        self.with_each(&sketch, Tells::Limit)
    }

    /// The paper's queues above a pacer that lives on forecasts.
    fn paced_by_forecast(self, told: &str) -> Result<Sketch, ReproduceError> {
        let sketch = self.drql_sketch(told)?;
        let mut ues = sketch.get("/ues");
        for ue in ues.as_array_mut().into_iter().flatten() {
            let pipeline = &mut ue["drbs"][0]["pipeline"];
            pipeline["name"] = "forecast".into();
            pipeline["pacer"] = json!({ "forecast": { "stale_us": STALE_US } });
        }
        sketch.set("ues", ues)
    }

    /// As [`told`](Self::told), with the paper's queues: what the queues are to answer for.
    fn told_with_fifos(self) -> Result<Scheme, ReproduceError> {
        Ok(Scheme::Run(Box::new(self.paced_by_forecast("each_slot")?)))
    }

    /// The CU is told of the RLC each TTI and counts what is on F1-U; no forecast.
    pub(super) fn told(self) -> Result<Scheme, ReproduceError> {
        Ok(Scheme::Run(Box::new(self.told_sketch()?)))
    }

    /// The same with the drain forecast, by each forecaster.
    pub(super) fn told_and_drain(self) -> Result<Vec<Named>, ReproduceError> {
        self.with_each(&self.told_sketch()?, Tells::Drain)
    }

    /// The same with limit and occupancy forecast without error.
    pub(super) fn told_and_limit(self) -> Result<Scheme, ReproduceError> {
        self.with(&self.told_sketch()?, Knows::Future, Tells::Limit)
    }

    /// Queues and scheduler are those of the template `drql_forecast`, for this T_c.
    fn told_sketch(self) -> Result<Sketch, ReproduceError> {
        let codel = CodelParameters::default().across_f1(self.t_c_us);
        let template = DrqlForecast { stale_us: STALE_US, codel, ..DrqlForecast::default() };
        let pipeline = json!(template.pipeline());
        let sketch = self.drql_sketch("each_slot")?;
        let mut ues = sketch.get("/ues");
        for ue in ues.as_array_mut().into_iter().flatten() {
            ue["drbs"][0]["pipeline"] = pipeline.clone();
        }
        sketch.set("ues", ues)
    }

    fn with_each(self, sketch: &Sketch, tells: Tells) -> Result<Vec<Named>, ReproduceError> {
        let each = self.forecasters().into_iter();
        each.map(|(name, knows)| Ok((name.to_owned(), self.with(sketch, knows, tells)?))).collect()
    }

    fn with(
        self,
        sketch: &Sketch,
        knows: Knows<'_>,
        tells: Tells,
    ) -> Result<Scheme, ReproduceError> {
        let (forecaster, timing) = match knows {
            Knows::Future => {
                let recorded = self.monolithic().drql_sketch("each_slot")?.scenario();
                let perfect = ForecasterKind::Perfect(Box::new(recorded));
                (perfect, Timing::stolidis2024(self.t_c_us))
            }
            Knows::LongAgo => (ForecasterKind::Late, Timing::stolidis2024(self.t_c_us)),
            Knows::Now => (ForecasterKind::Persistence, Timing::at_once(self.t_c_us)),
            Knows::Trained(trained) => match self.trained_timing(trained, tells) {
                Ok(timing) => (ForecasterKind::Trained(Box::new(trained.clone())), timing),
                Err(why) => return Ok(Scheme::Missing(why)),
            },
        };
        let forecasts = Forecasts { forecaster, timing, tells };
        Ok(Scheme::Run(Box::new(sketch.clone().with_forecasts(forecasts))))
    }

    /// T_m as measured, points as the model has them; or why it cannot be used.
    fn trained_timing(self, trained: &Trained, tells: Tells) -> Result<Timing, String> {
        let hello = &trained.hello;
        let quantity = match tells {
            Tells::Limit => "LIMIT_BYTES",
            Tells::Drain => "DRAIN_BYTES",
        };
        if !hello.forecasts("OCCUPANCY_BYTES") || !hello.forecasts(quantity) {
            return Err(format!(
                "{} forecasts {}; expected OCCUPANCY_BYTES and {quantity}",
                hello.model,
                hello.quantities.join(", ")
            ));
        }
        let Some(inference_us) = trained.t_m_us(self.bearers) else {
            return Err(format!("T_m of {} for {} bearers is unknown", hello.model, self.bearers));
        };
        Ok(Timing {
            inference_us,
            first_point_us: hello.horizon.start_us,
            step_us: hello.horizon.step_us,
            points: hello.horizon.points,
            ..Timing::stolidis2024(self.t_c_us)
        })
    }

    /// What T_c does to each way of knowing the RLC; names of series.
    pub(super) fn ways(self) -> Result<Vec<Named>, ReproduceError> {
        let mut all = vec![
            ("original".to_owned(), self.original()?),
            ("DRQL, asking the DU".to_owned(), self.drql("on_request")?),
            ("DRQL, told each TTI".to_owned(), self.drql("each_slot")?),
        ];
        let named = |what: &'static str| move |(name, scheme)| (format!("{what}, {name}"), scheme);
        all.extend(self.forecast_alone()?.into_iter().map(named("forecast")));
        all.push(("told each TTI, FIFOs".to_owned(), self.told_with_fifos()?));
        all.push(("told each TTI".to_owned(), self.told()?));
        all.push(("told, limit forecast, perfect".to_owned(), self.told_and_limit()?));
        all.extend(self.told_and_drain()?.into_iter().map(named("told, drain forecast")));
        Ok(all)
    }
}
