//! Named pipelines, from one FIFO to a queue per flow (annex A of the E2SM-TC document).
//!
//! | name | flows are separated by | queues | scheduler |
//! |---|---|---|---|
//! | `transparent` | nothing | FIFO, no pacer | |
//! | `bdp_only` | nothing | FIFO | |
//! | `fq_codel` | hash | CoDel | DRR with new and old lists |
//! | `drql_forecast` | hash | CoDel, paced by forecasts | DRR with new and old lists |
//! | `segregate_greedy` | 5-tuple | CoDel | DRR with new and old lists |
//! | `flow_slicing` | rules | FIFO with shaper | round robin |
//! | `l4s` | ECN | coupled DualPI2 | weights |
//! | `fq_l4s` | ECN, then hash | CoDel, step marking | DRR with new and old lists |
//! | `cake_diffserv` | DSCP, then hash | COBALT | weights per class, DRR within |
//! | `bode_diffserv` | DSCP | BoDe, FIFO for the rest | strict priority |
//! | `low_latency` | ECN, then hash | adaptive CoDel, step marking; filled as the MAC pulls | inelastic flows, then DRR with new and old lists |
//! | `classes` | filters and ECN, then hash | FIFO, CoDel or BoDe with shaper, step marking | guarantees, weights per class, DRR within |
//! | `base_stock` | as `low_latency` | the same; base stock by forecasts, over a distant DU | the same |
//!
//! Each is a structure of its parameters, with their defaults. [`Template`] is any of them, by the
//! name that policies and gateways use.

mod base_stock;
mod classes;
mod diffserv;
mod fair;
mod l4s;
mod low_latency;
mod parameters;
mod parts;
mod plain;
mod slicing;

use e2sm_tc::json::in_words;
use e2sm_tc::v1::{Pipeline, Validate as _};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub use base_stock::BaseStock;
pub use classes::{Classes, TrafficClass};
pub use diffserv::{BodeDiffserv, BoundedClass, CakeDiffserv};
pub use fair::{DrqlForecast, FqCodel};
pub use l4s::{FqL4s, L4s};
pub use low_latency::LowLatency;
pub use parameters::{Buffer, CodelParameters, FlowScheduler, InelasticParameters};
pub use parts::exactly;
pub use plain::{BdpOnly, Transparent, transparent};
pub use slicing::{FlowSlicing, SegregateGreedy, Slice};

/// Matches and shapers of a template are elements of E2SM-TC, whose ranges are its own.
fn valid(pipeline: Pipeline) -> Result<Pipeline, ParameterError> {
    match pipeline.validate() {
        Ok(()) => Ok(pipeline),
        Err(invalid) => Err(ParameterError {
            detail: format!("{}; expected {}", invalid.found, invalid.expected),
            parameter: invalid.element,
        }),
    }
}

/// Parameters of which no pipeline can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {detail}")]
pub struct ParameterError {
    /// The parameter as a path, e.g. `codel.target_us`.
    pub parameter: String,
    /// The value found and what was expected.
    pub detail: String,
}

/// Why there is no template of a name with some parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// None of that name.
    #[error("template: '{name}'; expected one of {}", NAMES.join(", "))]
    UnknownName {
        /// The name.
        name: String,
    },
    /// Not with these parameters.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Former names of templates and the names in force. Policies and settings may still use them.
pub const FORMER_NAMES: [(&str, &str); 1] = [("sojourn", "low_latency")];

/// The name in force of a template that may be given by a former one.
pub fn name_in_force(name: &str) -> &str {
    FORMER_NAMES.iter().find(|(former, _)| *former == name).map_or(name, |(_, now)| now)
}

macro_rules! templates {
    ($($name:literal => $Template:ident),+ $(,)?) => {
        /// The names of all templates.
        pub const NAMES: [&str; [$($name),+].len()] = [$($name),+];

        /// A template with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Template {
            $(
                #[doc = concat!("`", $name, "`.")]
                $Template($Template),
            )+
        }

        impl Template {
            /// The template of that name, or former name, with the parameters of a JSON object; what
            /// it leaves out has its default.
            ///
            /// # Errors
            /// For a name that is none of [`NAMES`], and for parameters that the template does not
            /// take.
            pub fn parse(name: &str, parameters: Value) -> Result<Self, TemplateError> {
                Ok(match name_in_force(name) {
                    $($name => Self::$Template(read(parameters)?),)+
                    _ => return Err(TemplateError::UnknownName { name: name.to_owned() }),
                })
            }

            /// The pipeline.
            ///
            /// # Errors
            /// For a parameter outside its range.
            pub fn pipeline(&self) -> Result<Pipeline, ParameterError> {
                match self {
                    $(Self::$Template(template) => {
                        template.check()?;
                        valid(template.pipeline())
                    })+
                }
            }
        }

        /// The pipeline of the template of that name with all defaults; `None` for a name that is
        /// none of [`NAMES`].
        pub fn by_name(name: &str) -> Option<Pipeline> {
            match name_in_force(name) {
                $($name => Some($Template::default().pipeline()),)+
                _ => None,
            }
        }

        /// The JSON schema of the parameters of the template of that name.
        pub fn schema(name: &str) -> Option<Value> {
            match name_in_force(name) {
                $($name => Some(schema_of::<$Template>()),)+
                _ => None,
            }
        }
    };
}

templates! {
    "transparent" => Transparent,
    "bdp_only" => BdpOnly,
    "fq_codel" => FqCodel,
    "drql_forecast" => DrqlForecast,
    "segregate_greedy" => SegregateGreedy,
    "flow_slicing" => FlowSlicing,
    "l4s" => L4s,
    "fq_l4s" => FqL4s,
    "cake_diffserv" => CakeDiffserv,
    "bode_diffserv" => BodeDiffserv,
    "low_latency" => LowLatency,
    "classes" => Classes,
    "base_stock" => BaseStock,
}

fn schema_of<T: JsonSchema>() -> Value {
    // To be put into the schema of a policy as it is.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn read<T: serde::de::DeserializeOwned>(parameters: Value) -> Result<T, ParameterError> {
    // Serde takes lists for structures as well.
    let objects = [("parameters", Some(&parameters))];
    let given = |name| parameters.get(name).filter(|value: &&Value| !value.is_null());
    let within = ["codel", "buffer"].map(|name| (name, given(name)));
    for (name, value) in objects.into_iter().chain(within) {
        if let Some(value) = value.filter(|value| !value.is_object()) {
            let detail = format!("{value}; expected parameters by name");
            return Err(ParameterError { parameter: name.to_owned(), detail });
        }
    }
    serde_path_to_error::deserialize(parameters).map_err(|error| {
        let parameter = error.path().to_string();
        let parameter = if parameter == "." { "parameters".to_owned() } else { parameter };
        ParameterError { parameter, detail: in_words(&error.into_inner().to_string()) }
    })
}
