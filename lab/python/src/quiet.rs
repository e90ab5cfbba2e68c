//! RLC reports in a row that a controller need not look at one by one.

use std::collections::VecDeque;

use lab_world::reports::rlc;
use lab_world::{Indication, Output, Payload, RanFunction, World};

/// RLC reports of the same bearers, and the indications between and after them.
#[derive(Default)]
pub(crate) struct Span {
    /// Virtual time at the end of the step that each report arrived in.
    pub(crate) at_us: Vec<u64>,
    pub(crate) collected_at_us: Vec<u64>,
    /// Their records, one report after the other.
    pub(crate) records: Vec<u8>,
    /// Indications that did not end the span: how many of the reports were before, and when it came.
    pub(crate) passed: Vec<(usize, u64, Indication)>,
    /// Indications from the one that ended the span on.
    pub(crate) rest: Vec<Indication>,
}

/// What ends a span.
#[derive(Clone, Copy)]
pub(crate) struct Until<'a> {
    pub(crate) t_us: u64,
    pub(crate) stop_above_us: u32,
    /// Subscriptions whose indications do not.
    pub(crate) passing: &'a [u64],
}

/// Steps a world until something else than a quiet RLC report arrives.
#[derive(Clone, Default)]
pub(crate) struct Stepper {
    /// Identities of the bearers of the newest RLC report.
    bearers: Vec<u8>,
}

impl Stepper {
    /// Steps by `step_us` until the end of the step that brings the end of the span.
    pub(crate) fn step(
        &mut self,
        world: &mut World,
        waiting: &mut VecDeque<Indication>,
        step_us: u64,
        until: Until<'_>,
    ) -> Span {
        let mut span = Span::default();
        let mut arrived: Vec<_> = waiting.drain(..).collect();
        while world.now_us() < until.t_us && span.rest.is_empty() {
            let at_us = world.now_us().saturating_add(step_us).min(until.t_us);
            world.step_until(at_us, &mut |output| {
                if let Output::Indication(indication) = output {
                    arrived.push(indication);
                }
            });
            for indication in arrived.drain(..) {
                self.add(&mut span, at_us, indication, until);
            }
        }
        waiting.extend(arrived);
        span
    }

    fn add(&mut self, span: &mut Span, at_us: u64, indication: Indication, until: Until<'_>) {
        if let Some(records) = records_of(&indication) {
            let same = self.names_the_same(records);
            if same && span.rest.is_empty() && below(records, until.stop_above_us) {
                span.at_us.push(at_us);
                span.collected_at_us.push(indication.report.collected_at_us);
                span.records.extend_from_slice(records);
                return;
            }
        } else if span.rest.is_empty() && until.passing.contains(&indication.subscription.0) {
            span.passed.push((span.at_us.len(), at_us, indication));
            return;
        }
        span.rest.push(indication);
    }

    /// Notes the bearers of a report that arrived otherwise.
    pub(crate) fn note(&mut self, indication: &Indication) {
        if let Some(records) = records_of(indication) {
            self.names_the_same(records);
        }
    }

    /// Whether a report names the bearers of the one before; notes those that it names.
    fn names_the_same(&mut self, records: &[u8]) -> bool {
        let names = || records.chunks_exact(rlc::RECORD_BYTES).filter_map(rlc::bearer_of).flatten();
        let same = names().eq(&self.bearers);
        if !same {
            self.bearers = names().copied().collect();
        }
        same
    }
}

/// The records of an RLC report.
fn records_of(indication: &Indication) -> Option<&[u8]> {
    match (&indication.report.payload, indication.ran_function) {
        (Payload::Message(message), RanFunction::Rlc) => rlc::records(message),
        _ => None,
    }
}

fn below(records: &[u8], limit_us: u32) -> bool {
    let mut waits = records.chunks_exact(rlc::RECORD_BYTES).filter_map(rlc::head_of_line_us);
    waits.all(|wait_us| wait_us <= limit_us)
}
