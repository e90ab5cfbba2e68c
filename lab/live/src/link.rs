//! `gnb-lab link`: two recorded links between network stacks, for the habits of `mm-link`.

use std::path::{Path, PathBuf};

use clap::Args;
use lab_scenario::{LoadedScenario, Override, ScenarioError};
use serde_json::json;

use crate::args::LiveOptions;

/// Name of the scenario in messages.
const SCENARIO: &str = "link";
const RNTI: u16 = 17921;
/// A datagram of 1500 bytes and its headers of PDCP, RLC and MAC: an opportunity of the downlink carries it
/// whole, as `mm-link` does.
const DOWNLINK_OPPORTUNITY_BYTES: u32 = 1506;
/// The most that the RLC can be given: packets are the limit.
const RLC_BYTES: u32 = 1_000_000_000;

fn pipeline(text: &str) -> Result<Override, String> {
    format!("ues[0].drbs[0].pipeline={text}").parse()
}

/// Arguments of `gnb-lab link`.
#[derive(Args, Clone, Debug)]
pub struct LinkArgs {
    /// Opportunities of the uplink: a line for each, its millisecond (Mahimahi); .xz and .gz are
    /// decompressed.
    #[arg(value_name = "UP.trace")]
    uplink: PathBuf,

    /// Opportunities of the downlink.
    #[arg(value_name = "DOWN.trace")]
    downlink: PathBuf,

    /// Delay in each direction before the queue, as that of mm-delay.
    #[arg(long, value_name = "MS", default_value_t = 0, help_heading = "Link",
        value_parser = clap::value_parser!(u32).range(0..=1_000))]
    delay: u32,

    /// Most packets that each direction's queue holds; further ones are dropped.
    #[arg(long, value_name = "PACKETS", default_value_t = 1_000, help_heading = "Link",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    queue: u32,

    /// Pipeline of the downlink in front of its queue: a template, or a mapping as in a scenario.
    #[arg(long, value_name = "PIPELINE", default_value = lab_scenario::TRANSPARENT, help_heading = "Link",
        value_parser = pipeline)]
    pipeline: Override,

    /// Seed.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Link")]
    seed: u64,

    /// Commands, devices, gateway and output.
    #[command(flatten)]
    pub options: LiveOptions,
}

impl LinkArgs {
    /// The cell of one UE whose channel and uplink are the traces.
    ///
    /// # Errors
    /// [`ScenarioError`] for a trace that cannot be read, or a pipeline that is none.
    pub fn load(&self) -> Result<LoadedScenario, ScenarioError> {
        let trace = |path: &PathBuf| json!({ "path": path.to_string_lossy() });
        let mut downlink = trace(&self.downlink);
        downlink["opportunity_bytes"] = DOWNLINK_OPPORTUNITY_BYTES.into();
        let scenario = json!({
            "name": "link",
            "seed": self.seed,
            "duration_s": 86_400,
            "cell": { "rat": "nr", "n_prb": 106, "scs_khz": 30 },
            "split": { "core_delay_us": self.delay * 1000 },
            "ues": [{
                "rnti": RNTI,
                "channel": { "mahimahi": downlink },
                "uplink": { "mahimahi": trace(&self.uplink), "limit_packets": self.queue },
                "drbs": [{ "id": 1, "rlc": { "limit_packets": self.queue, "limit_bytes": RLC_BYTES } }],
            }],
        });
        let pipeline = std::slice::from_ref(&self.pipeline);
        Ok(LoadedScenario::from_value(scenario, SCENARIO, Path::new(""), pipeline)?.with_hosts())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        link: LinkArgs,
    }

    fn loaded(arguments: &[&str]) -> Result<LoadedScenario, String> {
        let all = ["link", "up.trace", "down.trace"].iter().chain(arguments);
        let cli = Cli::try_parse_from(all).map_err(|error| error.to_string())?;
        cli.link.load().map_err(|error| error.to_string())
    }

    #[test]
    fn traces_queue_delay_and_pipeline_become_a_scenario() {
        let loaded =
            loaded(&["--delay", "20", "--queue", "100", "--pipeline", "fq_codel"]).unwrap();
        let scenario = loaded.scenario;
        assert_eq!(scenario.split.core_delay_us, 20_000);
        let ue = &scenario.ues[0];
        let uplink = ue.uplink.as_ref().unwrap();
        assert_eq!((&*uplink.mahimahi.path, uplink.limit_packets), ("up.trace", 100));
        assert_eq!(ue.drbs[0].rlc.limit_packets, 100);
        assert_eq!(
            ue.drbs[0].pipeline,
            lab_scenario::PipelineSpec::Template("fq_codel".to_owned())
        );
    }

    #[test]
    fn a_pipeline_that_is_none_is_refused_by_its_place() {
        let error = loaded(&["--pipeline", "{template: fq_codle}"]).unwrap_err();
        assert!(error.contains("ues[0].drbs[0].pipeline"), "{error}");
        let error = loaded(&["--pipeline", "{"]).unwrap_err();
        assert!(error.contains("not YAML"), "{error}");
    }
}
