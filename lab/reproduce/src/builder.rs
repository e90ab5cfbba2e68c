//! The cell of a committed scenario, some elements of which are replaced.

use serde::Serialize;
use serde_json::Value;

use super::{At, Cell, FloorOf, Forecasts, ReproduceError, Watch, Work, XApp};
use lab_scenario::{Override, ScenarioError};

/// A scenario being adapted. It is checked when the cell runs, so elements may be replaced in any
/// order.
#[derive(Clone, Debug)]
pub struct ScenarioBuilder {
    file: &'static str,
    value: Value,
    from_us: u64,
    occupancy: bool,
    xapp: Option<Box<XApp>>,
    forecasts: Option<Box<Forecasts>>,
    floor: Option<FloorOf>,
}

impl ScenarioBuilder {
    /// Starts from the YAML text of a committed scenario; `file` is its name in errors.
    ///
    /// # Errors
    /// [`ReproduceError::Scenario`] for invalid YAML.
    pub fn from_yaml(file: &'static str, yaml: &str) -> Result<Self, ReproduceError> {
        let value = lab_scenario::parse_yaml(yaml)
            .map_err(|error| refused(file, ScenarioError::new(file, "", error)))?;
        Ok(Self {
            file,
            value,
            from_us: 0,
            occupancy: false,
            xapp: None,
            forecasts: None,
            floor: None,
        })
    }

    /// Replaces the element at a path such as `cell.n_prb` or `flows[0].start_s`.
    ///
    /// # Errors
    /// [`ReproduceError::Scenario`] if the path does not exist.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Result<Self, ReproduceError> {
        let place = |message| refused(self.file, ScenarioError::new(self.file, path, message));
        Override::new(path, value.into())
            .and_then(|change| change.apply(&mut self.value))
            .map_err(place)?;
        Ok(self)
    }

    /// Replaces the element at a path by the JSON form of a value.
    ///
    /// # Errors
    /// [`ReproduceError::Scenario`] if the path does not exist or the value has no JSON form.
    pub fn set_as(self, path: &str, value: &impl Serialize) -> Result<Self, ReproduceError> {
        let value = serde_json::to_value(value).map_err(|error| {
            refused(self.file, ScenarioError::new(self.file, path, error.to_string()))
        })?;
        self.set(path, value)
    }

    /// A copy of the element at a JSON pointer (RFC 6901) such as `/flows/0`; null if absent.
    pub fn get(&self, pointer: &str) -> Value {
        self.value.pointer(pointer).cloned().unwrap_or_default()
    }

    /// Appends to the list at a JSON pointer.
    ///
    /// # Errors
    /// [`ReproduceError::Scenario`] if there is no list.
    pub fn push(mut self, pointer: &str, element: Value) -> Result<Self, ReproduceError> {
        let Some(Value::Array(list)) = self.value.pointer_mut(pointer) else {
            let source = ScenarioError::new(self.file, pointer, "no list");
            return Err(refused(self.file, source));
        };
        list.push(element);
        Ok(self)
    }

    /// Starts the observation window at `from_s`.
    #[must_use]
    pub fn observed_from_s(mut self, from_s: f64) -> Self {
        self.from_us = (from_s * 1e6).round() as u64;
        self
    }

    /// Also records the RLC occupancy over time.
    #[must_use]
    pub fn with_occupancy(mut self) -> Self {
        self.occupancy = true;
        self
    }

    /// Runs an xApp.
    #[must_use]
    pub fn with_xapp(mut self, xapp: XApp) -> Self {
        self.xapp = Some(Box::new(xapp));
        self
    }

    /// Runs a RIC that forecasts.
    #[must_use]
    pub fn with_forecasts(mut self, forecasts: Forecasts) -> Self {
        self.forecasts = Some(Box::new(forecasts));
        self
    }

    /// The current scenario.
    pub fn scenario(&self) -> Value {
        self.value.clone()
    }

    /// Reports the delay floor of some flows in place of their measured delays.
    #[must_use]
    pub fn floor_of(mut self, floor: FloorOf) -> Self {
        self.floor = Some(floor);
        self
    }

    /// The cell of a scheme; it runs to the end of the scenario.
    pub fn cell(self, scheme: impl Into<String>) -> Cell {
        let end_s = self.value.get("duration_s").and_then(Value::as_f64).unwrap_or(0.0);
        let watch = Watch {
            from_us: self.from_us,
            to_us: (end_s * 1e6).round() as u64,
            occupancy: self.occupancy,
        };
        let work = Work::Run {
            scenario: Box::new(self.value),
            watch,
            xapp: self.xapp,
            forecasts: self.forecasts,
            floor: self.floor,
        };
        Cell { scheme: scheme.into(), work, at: None, condition: None }
    }

    /// The cell of a scheme in a sweep.
    pub fn cell_at(self, scheme: impl Into<String>, series: impl Into<String>, x: f64) -> Cell {
        Cell { at: Some(At { series: series.into(), x }), ..self.cell(scheme) }
    }
}

fn refused(file: &str, source: ScenarioError) -> ReproduceError {
    ReproduceError::Scenario { experiment: file.to_owned(), scheme: "base".to_owned(), source }
}
