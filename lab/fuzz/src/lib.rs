//! Fuzz targets of the lab's parsers, as those of the product in `sojourn-fuzz`.
#![allow(clippy::panic, clippy::expect_used, reason = "a panic is how a finding is reported")]

mod targets;

use sojourn_fuzz::{KIB, MIB};

// Memory per byte of input is that of the widest element that a few bits can stand for.
sojourn_fuzz::targets! {
    scenario: 16 * KIB, (MIB, 2048);
    world: 4 * KIB, (512 * MIB, 0);
    traces: 64 * KIB, (100 * MIB, 64);
    access_file: 16 * KIB, (MIB, 1024);
    certificates: 8 * KIB, (MIB, 256);
    gateway_requests: 4 * KIB, (64 * MIB, 4096);
    replay_aqm: 8 * KIB, (16 * MIB, 1024);
    radio_pdus: 2 * KIB, (64 * KIB, 256);
}
