//! Variants: what a file of a paper says of a scenario, and which forecasts and xApps run beside it.

use lab_forecast::FeedQuantity;
use serde::Deserialize;
use serde_json::Value;

use super::floor::FloorOf;
use super::ordered::Ordered;
use super::xapp::Deploys;

/// One variant. The variants of a cell are applied in their order, later ones over earlier ones.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Variant {
    /// File of the scenario, in the folder of the paper under `lab/scenarios`.
    pub(super) scenario: Option<String>,
    /// File under `--traces`; its path is the variable `recording`.
    pub(super) recording: Option<String>,
    /// Variables, by name.
    #[serde(rename = "let")]
    pub(super) variables: Ordered<Value>,
    /// New elements of the scenario, by path such as `cell.n_prb` or `ues[*].channel`; `flows[+]`
    /// appends a list. `$name` stands for a variable, `{$product: [a, b]}` for a product,
    /// `{$template: name}` for the stages of that template.
    pub(super) set: Ordered<Value>,
    /// Abscissa in a sweep.
    pub(super) x: Option<f64>,
    /// xApp.
    pub(super) xapp: Option<XAppVariant>,
    /// Forecasts of a RIC.
    pub(super) forecasts: Option<ForecastVariant>,
    /// Flows whose delay floor replaces their measured delays.
    pub(super) floor: Option<FloorOf>,
}

/// An xApp that deploys one pipeline.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct XAppVariant {
    pub(super) rnti: u16,
    pub(super) drb: u8,
    pub(super) when: Deploys,
    /// Pipeline as in a scenario, with variables.
    pub(super) pipeline: Value,
}

/// A forecaster and what it forecasts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForecastVariant {
    pub(super) forecaster: Forecaster,
    pub(super) quantity: FeedQuantity,
}

/// A forecaster; [`ForecasterKind`](super::ForecasterKind) says what each does.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Forecaster {
    /// Knows a run with this variant in place of the one that forecasts.
    Perfect(Box<Variant>),
    Late,
    Persistence,
    TrueFuture,
    LearnedDrain,
    Marginal {
        lost_milli: u32,
    },
    Trained,
}

impl Variant {
    /// Whether it needs a trained model.
    pub(super) fn is_trained(&self) -> bool {
        let forecasts = self.forecasts.as_ref();
        forecasts.is_some_and(|forecasts| matches!(forecasts.forecaster, Forecaster::Trained))
    }
}
