//! The arguments of `gnb-lab live`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use lab_gateway::ServeOptions;
use lab_gateway::cli::ScenarioArgs;
use lab_scenario::{LoadedScenario, ScenarioError};

use crate::device::{FaultSpec, PointFile};

/// Arguments of `gnb-lab live`.
#[derive(Args, Clone, Debug)]
pub struct LiveArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,

    /// Commands, devices, gateway and output.
    #[command(flatten)]
    pub options: LiveOptions,
}

impl LiveArgs {
    /// The scenario, with a flow of real hosts for each UE if it has none.
    ///
    /// # Errors
    /// [`ScenarioError`] as [`LoadedScenario::from_file`].
    pub fn load(&self) -> Result<LoadedScenario, ScenarioError> {
        Ok(self.scenario.load(&[])?.with_hosts())
    }
}

/// Commands, devices, gateway and output of a run between network stacks.
#[derive(Args, Clone, Debug)]
// Several runs at the same time have no port in common.
#[command(mut_arg("listen", |arg| arg.default_value("127.0.0.1:0")))]
pub struct LiveOptions {
    /// Command that runs at the first UE, with its arguments; a shell if unset. The run ends with it.
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<OsString>,

    /// Command that runs at the server side, by sh -c. COMMAND starts when it has opened a socket.
    #[arg(long, value_name = "COMMAND", help_heading = "Hosts")]
    pub(crate) server: Option<String>,

    /// Command that runs at the UE with this RNTI, by sh -c; may be given several times.
    #[arg(long, value_name = "RNTI=COMMAND", help_heading = "Hosts")]
    pub(crate) ue: Vec<UeCommand>,

    /// MTU of the devices: largest IP packet that the gNB carries.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, help_heading = "Hosts",
        value_parser = clap::value_parser!(u32).range(1280..=65_535))]
    pub(crate) mtu: u32,

    /// Hand packets from device to device without the gNB: what this machine carries at most.
    #[arg(long, help_heading = "Hosts", conflicts_with_all = ["out", "summary", "capture", "packet_log", "fault"])]
    pub(crate) relay: bool,

    #[command(flatten)]
    pub(crate) packets: PacketArgs,

    #[command(flatten)]
    pub(crate) gateway: ServeOptions,

    /// Folder for the recording of the run: summary, bearers, flows. Disabled if unset.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

/// What happens to packets at the capture points between kernels, gNB and radio.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Packets")]
pub(crate) struct PacketArgs {
    /// Capture what passes a capture point as pcapng. Capture points: server-in, ue-in (before the gNB), air (delivered by
    /// the UEs' PDCP), ue-out, server-out (behind the gNB). Several may share a file.
    #[arg(long, value_name = "POINT=FILE")]
    pub(crate) capture: Vec<PointFile>,

    /// Write a JSON line for each packet of a capture point: time, UE, flow, length, verdict, sojourn. Several may
    /// share a file.
    #[arg(long, value_name = "POINT=FILE")]
    pub(crate) packet_log: Vec<PointFile>,

    /// Size of each packet log; its last line says how many packets it left out.
    #[arg(long, value_name = "MB", default_value_t = 1_000,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) packet_log_limit: u64,

    /// Inject faults at a capture point other than air, before its log and capture: loss, burst_start, burst_end,
    /// burst_loss, duplicate, corrupt, reorder (probabilities), reorder_ms, delay_ms, outage_at_s,
    /// outage_s, outage_every_s. The seed decides. May be given several times.
    #[arg(long, value_name = "POINT:KEY=VALUE,...")]
    pub(crate) fault: Vec<FaultSpec>,
}

/// A command for one UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UeCommand {
    pub(crate) rnti: u16,
    pub(crate) command: String,
}

impl FromStr for UeCommand {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected RNTI=COMMAND, e.g. 17922='ping -c 3 198.51.100.1'";
        let (rnti, command) = text.split_once('=').ok_or(expected)?;
        let rnti = rnti.parse().map_err(|_| format!("RNTI {rnti:?}; {expected}"))?;
        Ok(Self { rnti, command: command.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_a_ue_has_an_rnti() {
        let parsed: UeCommand = "17922=sh -c 'a=b'".parse().unwrap();
        assert_eq!(parsed, UeCommand { rnti: 17_922, command: "sh -c 'a=b'".to_owned() });
        for wrong in ["", "ping", "70000=ping", "x=ping"] {
            assert!(wrong.parse::<UeCommand>().unwrap_err().contains("RNTI=COMMAND"), "{wrong}");
        }
    }
}
