//! Milliseconds of an emulated cell, with traffic, and of one that reports its bearers' RLC.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use lab_scenario::LoadedScenario;
use lab_world::{RanFunction, SubscriptionRequest, World};

use crate::Load;

/// Scenario of each load, and whether an RLC report follows each millisecond.
const CELLS: [(&str, &str, bool); 3] = [
    ("cell_1_ue", "irazabal2021/codel.yaml", false),
    ("cell_10_ues", "ten_ues.yaml", false),
    ("cell_10_ues_reported", "ten_ues.yaml", true),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CELLS.into_iter().map(|(name, ..)| name)
}

/// The load of a name; `None` for a name that is not among [`names`].
pub(crate) fn load(name: &str) -> Result<Option<Box<dyn Load>>, Box<dyn Error>> {
    let Some((_, scenario, reports)) = CELLS.into_iter().find(|(cell, ..)| *cell == name) else {
        return Ok(None);
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(scenario);
    let mut world = World::new(&LoadedScenario::from_file(&path, &[])?)?;
    if reports {
        let request = SubscriptionRequest::periodic(world.node_id(), RanFunction::Rlc, 1);
        world.subscribe(&request)?;
    }
    Ok(Some(Box::new(CellLoad { world, now_us: 0 })))
}

struct CellLoad {
    world: World,
    now_us: u64,
}

impl Load for CellLoad {
    fn pass(&mut self, times: u64) {
        self.now_us += 1_000 * times;
        self.world.step_until(self.now_us, &mut |output| {
            black_box(output);
        });
    }
}
