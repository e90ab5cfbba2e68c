//! Requests of a gateway's client: subscriptions and controls as Protocol Buffers, and time between
//! them. Each is refused or carried out, and what the node reports can be read.

use std::path::Path;
use std::sync::LazyLock;

use e2sm_tc::{v0, v1};
use lab_gateway::proto;
use lab_scenario::LoadedScenario;
use lab_world::{
    ControlRequest, Indication, Output, Payload, RanFunction, SubscriptionRequest, World,
};
use prost::Message;

use sojourn_fuzz::Cursor;

/// Requests of one input.
const MOST: usize = 16;
/// Virtual time that one input may take.
const DURATION_US: u64 = 200_000;

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let text = include_str!("../../../scenarios/default.yaml");
    let loaded = LoadedScenario::from_yaml(text, "default.yaml", Path::new(""), &[]);
    let mut world = World::new(&loaded.expect("a scenario")).expect("a gNB");
    world.step_until(1_000_000, &mut |_| {});
    world
});

pub(crate) fn check(input: &[u8]) {
    let mut world = WORLD.clone();
    let end_us = world.now_us() + DURATION_US;
    let mut input = Cursor::new(input);
    for _ in 0..MOST {
        if input.is_empty() || world.now_us() >= end_us {
            break;
        }
        match input.below(4) {
            0 => subscribe(&mut world, input.block()),
            1 => control(&mut world, input.block()),
            2 => {
                let until_us = world.now_us() + u64::from(input.u16());
                world.step_until(until_us, &mut read);
            }
            _ => world.step_until(world.now_us() + 1_000, &mut read),
        }
    }
    world.step_until(world.now_us() + 2_000, &mut read);
}

fn subscribe(world: &mut World, bytes: &[u8]) {
    let Ok(request) = proto::Subscription::decode(bytes) else { return };
    let request = SubscriptionRequest {
        node_id: node(world, request.node_id),
        ran_function_oid: request.ran_function_oid,
        event_trigger: request.event_trigger,
        action_definitions: request.action_definitions,
        kpm_measurements: request.kpm_measurements,
    };
    if let Err(error) = world.subscribe(&request) {
        assert!(!error.to_string().is_empty());
    }
}

fn control(world: &mut World, bytes: &[u8]) {
    let Ok(request) = proto::ControlRequest::decode(bytes) else { return };
    let request = ControlRequest {
        node_id: node(world, request.node_id),
        ran_function_oid: request.ran_function_oid,
        header: request.header,
        message: request.message,
    };
    if let Err(error) = world.submit_control(request) {
        assert!(!error.to_string().is_empty());
    }
}

/// The node of this name; without a name, the node that there is.
fn node(world: &World, named: String) -> String {
    if named.is_empty() { world.node_id().to_owned() } else { named }
}

fn read(output: Output) {
    let Output::Indication(Indication { ran_function, report, .. }) = output else { return };
    let Payload::Message(message) = report.payload else { return };
    let header = report.header;
    match ran_function {
        RanFunction::TcV0 => {
            v0::decode::<v0::IndicationHeader>(&header).expect("a header");
            v0::decode::<v0::IndicationMessage>(&message).expect("a message");
        }
        RanFunction::TcV1 => {
            v1::decode::<v1::IndicationHeader>(&header).expect("a header");
            v1::decode::<v1::IndicationMessage>(&message).expect("a message");
        }
        _ => {}
    }
}
