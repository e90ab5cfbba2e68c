//! Ranges of a flow's keys, and whether its bearer exists.

use std::collections::{HashMap, HashSet};

use traffic::{AppConfig, IpVersion, TunnelConfig};

use crate::error::Violation;
use crate::flow::{FlowKeys, FlowUe};
use crate::model::Scenario;
use crate::rules::{Bearers, Check, MAX_DELAY_US, ensure, span, within, within_if_set};

/// Tunnels of a scenario.
const MAX_TUNNELS: usize = 64;

pub(super) fn flows(scenario: &Scenario, bearers: &Bearers) -> Check {
    let mut names = HashSet::new();
    let mut hosts = HashSet::new();
    let mut tunnels = Tunnels::default();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let path = format!("flows[{index}]");
        let keys = &flow.keys;
        let (name, bytes) = (&keys.name, keys.name.len());
        let message = format_args!("'{name}' has {bytes} bytes; expected 1..=64");
        ensure((1..=64).contains(&bytes), format_args!("{path}.name"), message)?;
        within(format_args!("{path}.count"), keys.count, 1..=64)?;
        within(format_args!("{path}.server"), keys.server, 1..=254)?;
        within(format_args!("{path}.ue_host"), keys.ue_host, 1..=200)?;
        if let Some(taken) = flow.names().find(|name| !names.insert(name.clone())) {
            let message = format!("'{taken}' is taken by an earlier flow");
            return Err(Violation::new(format!("{path}.name"), message));
        }
        within_if_set(format_args!("{path}.start_jitter_ms"), keys.start_jitter_ms, 0..=60_000)?;
        span(&path, ("start_s", keys.start_s), ("stop_s", keys.stop_s))?;
        let delay_us = 0..=MAX_DELAY_US;
        within_if_set(format_args!("{path}.core_delay_us"), keys.core_delay_us, delay_us)?;
        within(format_args!("{path}.dscp"), keys.dscp, 0..=63)?;
        within_if_set(format_args!("{path}.qfi"), keys.qfi, 0..=63)?;
        let rntis = bearer(keys, bearers, &path)?;
        if let AppConfig::Host(_) = flow.app {
            host(keys, &rntis, &mut hosts, &path)?;
        }
        let tunnel = scenario.tunnel_of(flow);
        if let Some(config) = tunnel {
            tunnels.check(scenario, keys, config, &rntis, &path)?;
        }
        flow.config(tunnel, scenario.split.core_delay_us).validate().map_err(|error| {
            let message = format!("{}; expected {}", error.value, error.expected);
            Violation::new(format!("{path}.{}", error.field), message)
        })?;
    }
    Ok(())
}

/// Real hosts send when they want, over the version of IP that they want; the DSCP of a packet decides
/// which of a UE's flows carries it.
fn host(keys: &FlowKeys, rntis: &[u16], taken: &mut HashSet<(u16, u8)>, path: &str) -> Check {
    let is_unset = [
        ("start_s", keys.start_s == 0.0),
        ("stop_s", keys.stop_s.is_none()),
        ("count", keys.count == 1),
        ("ip_version", keys.ip_version == IpVersion::V4),
        ("server", keys.server == 1),
        ("ue_host", keys.ue_host == 1),
    ];
    for (key, is_unset) in is_unset {
        ensure(is_unset, format_args!("{path}.{key}"), "is not for kind host")?;
    }
    let twice = rntis.iter().find(|rnti| !taken.insert((**rnti, keys.dscp)));
    twice.map_or(Ok(()), |rnti| {
        let dscp = keys.dscp;
        let message = format!("{dscp} is taken by an earlier flow of kind host of UE {rnti}");
        Err(Violation::new(format!("{path}.dscp"), message))
    })
}

/// DRB and QFI.
type Way = (Option<u8>, Option<u8>);

/// How the core maps the packets of a tunnel to bearers.
#[derive(Default)]
struct Tunnels<'a> {
    names: HashSet<&'a str>,
    /// All that the core sees, by RNTI, tunnel and outer DSCP.
    ways: HashMap<(u16, &'a str, u8), Way>,
}

impl<'a> Tunnels<'a> {
    fn check(
        &mut self,
        scenario: &'a Scenario,
        keys: &'a FlowKeys,
        config: TunnelConfig,
        rntis: &[u16],
        path: &str,
    ) -> Check {
        let name = keys.tunnel.as_deref().unwrap_or_default();
        let bytes = name.len();
        let message = format_args!("'{name}' has {bytes} bytes; expected 1..=64");
        ensure((1..=64).contains(&bytes), format_args!("{path}.tunnel"), message)?;
        let known = &scenario.tunnels;
        if !known.is_empty() && !known.contains_key(name) {
            let list = known.keys().map(String::as_str).collect::<Vec<_>>().join("', '");
            let message = format!("'{name}' is not in 'tunnels'; expected one of '{list}'");
            return Err(Violation::new(format!("{path}.tunnel"), message));
        }
        self.names.insert(name);
        let message = format_args!("'{name}' is one more than {MAX_TUNNELS} tunnels");
        ensure(self.names.len() <= MAX_TUNNELS, format_args!("{path}.tunnel"), message)?;
        let outer_dscp = if config.copy_dscp { keys.dscp } else { 0 };
        let way = (keys.drb, keys.qfi);
        for rnti in rntis {
            let earlier = *self.ways.entry((*rnti, name, outer_dscp)).or_insert(way);
            for (key, is_equal) in [("drb", earlier.0 == way.0), ("qfi", earlier.1 == way.1)] {
                let message = format_args!(
                    "differs from an earlier flow of tunnel '{name}'; the core sees one outer \
                     5-tuple and DSCP {outer_dscp}"
                );
                ensure(is_equal, format_args!("{path}.{key}"), message)?;
            }
        }
        Ok(())
    }
}

/// The UEs of a flow.
fn bearer(keys: &FlowKeys, bearers: &Bearers, path: &str) -> Result<Vec<u16>, Violation> {
    let rntis: Vec<u16> = match keys.rnti {
        Some(FlowUe::Rnti(rnti)) if bearers.contains_key(&rnti) => vec![rnti],
        Some(FlowUe::Rnti(rnti)) => {
            let message = format!("{rnti} is no UE of this scenario");
            return Err(Violation::new(format!("{path}.rnti"), message));
        }
        Some(FlowUe::Each) => bearers.keys().copied().collect(),
        None if bearers.len() == 1 => bearers.keys().copied().collect(),
        None => {
            let message = format!("missing; there are {} UEs", bearers.len());
            return Err(Violation::new(format!("{path}.rnti"), message));
        }
    };
    let Some(drb) = keys.drb else { return Ok(rntis) };
    let without = rntis.iter().filter(|rnti| !bearers[rnti].contains(&drb)).min();
    match without {
        None => Ok(rntis),
        Some(rnti) => {
            let message = format!("{drb} is no DRB of UE {rnti}");
            Err(Violation::new(format!("{path}.drb"), message))
        }
    }
}
