//! The host as a gNB's threads use it, with a gNB that is a fake.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod allocations;
mod control;
mod cu;
mod fake;
mod just_in_time;
mod lifecycle;
mod threads;
