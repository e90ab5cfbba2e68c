//! An xApp of a run: it deploys a pipeline over E2 once its condition holds.

use e2sm_tc::v1::{
    self, BearerId, ControlHeader, ControlMessage, Pipeline, PipelineChange, Transaction, UeId,
};
use serde::{Deserialize, Serialize};

use lab_scenario::{LoadedScenario, ScenarioError};
use lab_world::{Output, RanFunction, World};

/// An xApp that deploys one pipeline on one bearer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct XApp {
    /// C-RNTI of the UE.
    pub rnti: u16,
    /// Its DRB.
    pub drb: u8,
    /// Condition.
    pub when: Deploys,
    /// Pipeline to deploy.
    pub pipeline: Pipeline,
}

/// When an xApp deploys its pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deploys {
    /// Time of the deployment, virtual µs.
    #[serde(rename = "at_us")]
    At(u64),
    /// When the mean sojourn of the last 100 ms in the RLC report exceeds this many µs.
    #[serde(rename = "rlc_sojourn_above_us")]
    RlcSojournAbove(u32),
}

/// Period of the RLC reports (irazabal2024 §V-A).
const REPORT_US: u64 = 1_000;

/// Steps a world with its xApp.
pub(super) struct XAppRunner<'a> {
    xapp: Option<&'a XApp>,
    file: &'a str,
    report_delay_us: u64,
    control_delay_us: u64,
    /// Time at which the control arrives; `None` before the condition holds.
    arrives_us: Option<u64>,
}

impl<'a> XAppRunner<'a> {
    pub(super) fn new(xapp: Option<&'a XApp>, loaded: &'a LoadedScenario) -> Self {
        let split = &loaded.scenario.split;
        let arrives_us = xapp.and_then(|xapp| match xapp.when {
            Deploys::At(at_us) => Some(at_us),
            Deploys::RlcSojournAbove(_) => None,
        });
        Self {
            xapp,
            file: &loaded.file,
            report_delay_us: split.e2_report_delay_us.into(),
            control_delay_us: split.e2_control_delay_us.into(),
            arrives_us,
        }
    }

    /// Steps to `to_us`, deploying the pipeline when due; outputs of the world go to `sink`.
    ///
    /// # Errors
    /// [`ScenarioError`] if the RAN function refuses the pipeline.
    pub(super) fn step_until(
        &mut self,
        world: &mut World,
        to_us: u64,
        sink: &mut dyn FnMut(Output),
    ) -> Result<(), ScenarioError> {
        while let Some(xapp) = self.xapp {
            let Some(arrives_us) = self.arrives_us else {
                let now_us = world.now_us();
                if now_us >= to_us {
                    return Ok(());
                }
                let report_us = (now_us / REPORT_US + 1) * REPORT_US;
                world.step_until(report_us.min(to_us), sink);
                if report_us <= to_us && holds(xapp, world) {
                    self.arrives_us =
                        Some(report_us + self.report_delay_us + self.control_delay_us);
                }
                continue;
            };
            if arrives_us > to_us {
                break;
            }
            world.step_until(arrives_us.max(world.now_us()), sink);
            self.xapp = None;
            deploy(xapp, world).map_err(|why| ScenarioError::new(self.file, "xapp", why))?;
        }
        world.step_until(to_us, sink);
        Ok(())
    }
}

fn holds(xapp: &XApp, world: &mut World) -> bool {
    match xapp.when {
        Deploys::At(at_us) => world.now_us() >= at_us,
        Deploys::RlcSojournAbove(above_us) => world.bearer_samples().iter().any(|bearer| {
            (bearer.rnti, bearer.drb) == (xapp.rnti, xapp.drb) && bearer.mean_sojourn_us > above_us
        }),
    }
}

fn deploy(xapp: &XApp, world: &mut World) -> Result<(), String> {
    let message = ControlMessage::Transaction(Transaction {
        bearer: BearerId { ue: UeId::Rnti(xapp.rnti), drb: xapp.drb },
        expected_revision: None,
        lease_ms: None,
        owner: None,
        as_safe: false,
        dry_run: false,
        change: PipelineChange::Replace(xapp.pipeline.clone()),
    });
    let header = ControlHeader { style: 1, correlation_id: 1 };
    let header = v1::encode(&header).map_err(|error| error.to_string())?;
    let message = v1::encode(&message).map_err(|error| error.to_string())?;
    let reply = world
        .control(RanFunction::TcV1.oid(), &header, &message)
        .map_err(|error| error.to_string())?;
    if reply.acknowledged { Ok(()) } else { Err(reply.detail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(flows: &str) -> LoadedScenario {
        let yaml = format!(
            "{{duration_s: 5, cell: {{rat: lte, n_prb: 25}}, split: {{e2_report_delay_us: 300, \
             e2_control_delay_us: 700}}, ues: [{{rnti: 7, channel: {{fixed_mcs: 10}}, \
             drbs: [{{id: 1}}]}}], flows: [{flows}]}}"
        );
        LoadedScenario::from_yaml(&yaml, "test", std::path::Path::new(""), &[]).unwrap()
    }

    fn xapp(when: Deploys) -> XApp {
        let pipeline = tc_rf::templates::by_name("bdp_only").unwrap();
        XApp { rnti: 7, drb: 1, when, pipeline }
    }

    fn pipeline_at(xapp: &XApp, loaded: &LoadedScenario, us: u64) -> String {
        let mut world = World::new(loaded).unwrap();
        let mut runner = XAppRunner::new(Some(xapp), loaded);
        runner.step_until(&mut world, us, &mut |_| {}).unwrap();
        assert_eq!(world.now_us(), us);
        world.summary().bearers[0].pipeline.clone()
    }

    #[test]
    fn deploys_at_its_time_and_not_before() {
        let (loaded, xapp) = (loaded(""), xapp(Deploys::At(2_000_500)));
        assert_eq!(pipeline_at(&xapp, &loaded, 2_000_499), "transparent");
        assert_eq!(pipeline_at(&xapp, &loaded, 2_000_500), "bdp_only");
    }

    #[test]
    fn deploys_when_the_sojourn_is_too_long() {
        let xapp = xapp(Deploys::RlcSojournAbove(10_000));
        let light = loaded("{name: a, kind: udp_cbr, rate_kbps: 100}");
        assert_eq!(pipeline_at(&xapp, &light, 5_000_000), "transparent");
        let heavy = loaded("{name: a, kind: udp_cbr, rate_kbps: 50000, start_s: 2}");
        assert_eq!(pipeline_at(&xapp, &heavy, 2_000_000), "transparent");
        assert_eq!(pipeline_at(&xapp, &heavy, 3_000_000), "bdp_only");
    }

    #[test]
    fn a_refusal_names_the_reason() {
        let loaded = loaded("");
        let mut world = World::new(&loaded).unwrap();
        let xapp = XApp { drb: 2, ..xapp(Deploys::At(1_000)) };
        let mut runner = XAppRunner::new(Some(&xapp), &loaded);
        let refused = runner.step_until(&mut world, 2_000, &mut |_| {}).unwrap_err();
        assert!(refused.to_string().contains("DRB 2"), "{refused}");
    }
}
