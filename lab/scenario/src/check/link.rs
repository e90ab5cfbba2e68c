//! Ranges of RLC, HARQ and uplink access.

use crate::rules::{Check, MAX_DELAY_US, ensure, within, within_if_set};
use crate::{
    F1, Harq, Overhead, RecordedUplink, Rlc, RlcAqm, RlcMode, RlcStatusReporting, UeHarq,
    UplinkAccess, channel,
};

const MAX_TIMER_US: u32 = 10_000_000;

/// Minimum F1 delay with `on_request`: the CU repeats a request as soon as it is answered.
const MIN_REQUEST_DELAY_US: u32 = 100;

pub(super) fn f1(f1: &F1, delay_us: u32) -> Check {
    within("split.f1.jitter_us", f1.jitter_us, 0..=MAX_DELAY_US)?;
    within("split.f1.loss", f1.loss, 0.0..=0.9)?;
    within_if_set("split.f1.delivery_status_us", f1.delivery_status_us, 500..=MAX_DELAY_US)?;
    let is_default = f1.rlc_status == RlcStatusReporting::EachSlot;
    let message = "is for a CU without delivery_status_us, which replaces it";
    ensure(f1.delivery_status_us.is_none() || is_default, "split.f1.rlc_status", message)?;
    let is_monolithic = delay_us == 0 && f1.jitter_us == 0 && f1.loss == 0.0;
    let is_possible = f1.rlc_status != RlcStatusReporting::OnRequest
        || is_monolithic
        || delay_us >= MIN_REQUEST_DELAY_US;
    let message =
        format_args!("on_request needs split.f1_delay_us of {MIN_REQUEST_DELAY_US} or more");
    ensure(is_possible, "split.f1.rlc_status", message)
}

pub(super) fn harq(harq: &Harq) -> Check {
    within("cell.harq.bler", harq.bler, 0.0..=1.0)?;
    within_if_set("cell.harq.combining_gain", harq.combining_gain, 0.0..=1.0)?;
    within_if_set("cell.harq.rtt_slots", harq.rtt_slots, 1..=160)?;
    within_if_set("cell.harq.processes", harq.processes, 1..=16)?;
    within_if_set("cell.harq.max_transmissions", harq.max_transmissions, 1..=4)
}

pub(super) fn overhead(overhead: &Overhead) -> Check {
    let one_of = |key: &str, value: Option<u8>, of: &[u8], expected: &str| {
        let is_possible = value.is_none_or(|value| of.contains(&value));
        let message = format_args!("{}; expected {expected}", value.unwrap_or_default());
        ensure(is_possible, format_args!("cell.overhead.{key}"), message)
    };
    within_if_set("cell.overhead.pdcch_symbols", overhead.pdcch_symbols, 0..=3)?;
    within_if_set("cell.overhead.dmrs_symbols", overhead.dmrs_symbols, 1..=4)?;
    within_if_set("cell.overhead.mixed_dmrs_symbols", overhead.mixed_dmrs_symbols, 1..=4)?;
    one_of("dmrs_re", overhead.dmrs_re, &[6, 12], "6 or 12")?;
    one_of("x_overhead", overhead.x_overhead, &[0, 6, 12, 18], "0, 6, 12 or 18")
}

pub(super) fn recorded_uplink(uplink: Option<&RecordedUplink>, path: &str) -> Check {
    let Some(uplink) = uplink else { return Ok(()) };
    channel::mahimahi(&uplink.mahimahi, &format!("{path}.mahimahi"))?;
    let (packets, bytes) = (uplink.limit_packets, uplink.limit_bytes);
    within(format_args!("{path}.limit_packets"), packets, 1..=1_000_000)?;
    within_if_set(format_args!("{path}.limit_bytes"), bytes, 1500..=u32::MAX)
}

pub(super) fn ue_harq(harq: Option<&UeHarq>, path: &str) -> Check {
    let Some(harq) = harq else { return Ok(()) };
    within(format_args!("{path}.bler"), harq.bler, 0.0..=1.0)?;
    within_if_set(format_args!("{path}.combining_gain"), harq.combining_gain, 0.0..=1.0)
}

pub(super) fn uplink(uplink: &UplinkAccess, max_mcs: u8) -> Check {
    within_if_set("cell.uplink.sr_period_us", uplink.sr_period_us, 1..=1_000_000)?;
    within_if_set("cell.uplink.sr_offset_us", uplink.sr_offset_us, 0..=999_999)?;
    if let (Some(offset), Some(period)) = (uplink.sr_offset_us, uplink.sr_period_us) {
        let message = format_args!("{offset} is not below sr_period_us ({period})");
        ensure(offset < period, "cell.uplink.sr_offset_us", message)?;
    }
    within_if_set("cell.uplink.sr_grant_prb", uplink.sr_grant_prb, 1..=275)?;
    within_if_set("cell.uplink.mcs", uplink.mcs, 0..=max_mcs)?;
    within_if_set("cell.uplink.snr_offset_db", uplink.snr_offset_db, -50.0..=80.0)?;
    within_if_set("cell.uplink.target_snr_db", uplink.target_snr_db, -50.0..=80.0)?;
    within_if_set("cell.uplink.limit_packets", uplink.limit_packets, 1..=1_000_000)?;
    within_if_set("cell.uplink.limit_bytes", uplink.limit_bytes, 1500..=u32::MAX)?;
    let delays = [
        ("sr_to_pusch_us", uplink.sr_to_pusch_us),
        ("bsr_to_pusch_us", uplink.bsr_to_pusch_us),
        ("preschedule_us", uplink.preschedule_us),
        ("decode_us", uplink.decode_us),
    ];
    for (key, delay_us) in delays {
        within_if_set(format_args!("cell.uplink.{key}"), delay_us, 0..=MAX_DELAY_US)?;
    }
    Ok(())
}

pub(super) fn rlc(rlc: &Rlc, path: &str) -> Check {
    let (lengths, expected) = match rlc.mode {
        RlcMode::Um => ([6, 12], "6 or 12 in mode um"),
        RlcMode::Am => ([12, 18], "12 or 18 in mode am"),
    };
    let message = format_args!("{}; expected {expected}", rlc.sn_bits);
    ensure(lengths.contains(&rlc.sn_bits), format_args!("{path}.sn_bits"), message)?;
    within(format_args!("{path}.limit_bytes"), rlc.limit_bytes, 1500..=1_000_000_000)?;
    within(format_args!("{path}.limit_packets"), rlc.limit_packets, 1..=10_000_000)?;
    let am_only = [
        ("t_poll_retransmit_us", rlc.t_poll_retransmit_us.is_some()),
        ("poll_pdu", rlc.poll_pdu.is_some()),
        ("poll_byte", rlc.poll_byte.is_some()),
        ("max_retx_threshold", rlc.max_retx_threshold.is_some()),
        ("t_status_prohibit_us", rlc.t_status_prohibit_us.is_some()),
        ("in_order", rlc.in_order.is_some()),
    ];
    for (key, is_set) in am_only {
        let message = format_args!("is for mode am alone, this is {}", rlc.mode.name());
        ensure(rlc.mode == RlcMode::Am || !is_set, format_args!("{path}.{key}"), message)?;
    }
    within_if_set(format_args!("{path}.t_reassembly_us"), rlc.t_reassembly_us, 0..=MAX_TIMER_US)?;
    within_if_set(format_args!("{path}.t_reordering_us"), rlc.t_reordering_us, 0..=MAX_TIMER_US)?;
    within_if_set(
        format_args!("{path}.t_poll_retransmit_us"),
        rlc.t_poll_retransmit_us,
        1..=MAX_TIMER_US,
    )?;
    within_if_set(format_args!("{path}.max_retx_threshold"), rlc.max_retx_threshold, 1..=32)?;
    within_if_set(
        format_args!("{path}.t_status_prohibit_us"),
        rlc.t_status_prohibit_us,
        0..=MAX_TIMER_US,
    )?;
    rlc.aqm.map_or(Ok(()), |aqm| rlc_aqm(aqm, &format!("{path}.aqm")))
}

fn rlc_aqm(aqm: RlcAqm, path: &str) -> Check {
    const TIME_US: std::ops::RangeInclusive<u32> = 1..=10_000_000;
    match aqm {
        RlcAqm::HeadDrop => Ok(()),
        RlcAqm::Codel(codel) => {
            within(format_args!("{path}.codel.target_us"), codel.target_us, TIME_US)?;
            within(format_args!("{path}.codel.interval_us"), codel.interval_us, TIME_US)
        }
        RlcAqm::Pie(pie) => {
            within(format_args!("{path}.pie.target_us"), pie.target_us, TIME_US)?;
            within(format_args!("{path}.pie.update_us"), pie.update_us, TIME_US)?;
            within(format_args!("{path}.pie.alpha_milli"), pie.alpha_milli, 1..=100_000)?;
            within(format_args!("{path}.pie.beta_milli"), pie.beta_milli, 1..=100_000)
        }
        RlcAqm::Bode(bode) => within(format_args!("{path}.bode.bound_us"), bode.bound_us, TIME_US),
    }
}
