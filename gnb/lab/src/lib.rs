//! The world: scenario, virtual time, E2 gateway server and CLI.

pub mod gateway;
