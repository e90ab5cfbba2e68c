//! Link adaptation: error rates, what a moving channel costs, and the peers' behaviour.

use crate::common::{SECOND_US, bytes_of, cell_with, saturate};
use ran::{
    AdaptationConfig, AtEnd, CellConfig, Channel, Combining, GaussMarkov, MacReport, OuterLoop,
    SnrSeries,
};

fn gauss_markov(coherence_ms: u64) -> Channel {
    Channel::GaussMarkov(GaussMarkov {
        mean_snr_db: 18.0,
        std_dev_db: 5.0,
        coherence_us: coherence_ms * 1000,
        period_us: 1000,
    })
}

fn constant(snr_db: f64) -> Channel {
    Channel::SnrSeries(SnrSeries::new(SECOND_US, [snr_db], AtEnd::Hold).unwrap())
}

fn nr(adaptation: AdaptationConfig) -> CellConfig {
    CellConfig { adaptation, ..CellConfig::nr_n78_106prb() }
}

/// Delivered bytes and the MAC report of a saturated UE.
fn run(config: CellConfig, channel: Channel, seconds: u64) -> (u64, MacReport) {
    let (mut cell, bearers) = cell_with(config, &[channel]);
    let out = saturate(&mut cell, &bearers, seconds * SECOND_US);
    (bytes_of(&out, bearers[0]), cell.mac_report(1, seconds * SECOND_US).unwrap())
}

/// Error rate of first transmissions.
fn first_errors(report: &MacReport) -> f64 {
    f64::from(report.dl_harq[1]) / f64::from(report.dl_harq[0])
}

#[test]
fn an_outer_loop_keeps_its_target_whatever_the_channel() {
    for target_bler in [0.02, 0.1, 0.3] {
        for channel in [constant(17.3), gauss_markov(1000), gauss_markov(100), gauss_markov(20)] {
            let outer_loop = OuterLoop::Steps { target_bler, step_up_db: 0.5 };
            let config = nr(AdaptationConfig { outer_loop, ..AdaptationConfig::default() });
            let (_, report) = run(config, channel.clone(), 40);
            let rate = first_errors(&report);
            assert!((rate / target_bler - 1.0).abs() < 0.2, "{channel:?} {target_bler}: {rate}");
        }
    }
}

#[test]
fn without_it_old_reports_fail_and_an_oracle_carries_more() {
    let off = AdaptationConfig {
        outer_loop: OuterLoop::Off { target_bler: 0.1 },
        ..AdaptationConfig::default()
    };
    let mut last = 0.0;
    for coherence_ms in [1000, 100, 20, 5] {
        let channel = gauss_markov(coherence_ms);
        let (oracle, _) = run(nr(off), Channel::Ideal(Box::new(channel.clone())), 20);
        let (carried, report) = run(nr(off), channel.clone(), 20);
        let (corrected, _) = run(nr(AdaptationConfig::default()), channel, 20);
        let errors = first_errors(&report);
        assert!(errors > last, "{coherence_ms} ms: {errors} after {last}");
        last = errors;
        let ratio = carried as f64 / oracle as f64;
        println!(
            "{coherence_ms} ms: {errors:.3} errors, {ratio:.3} of the oracle, {:.3} corrected",
            corrected as f64 / oracle as f64
        );
        assert!(ratio < 1.0, "{coherence_ms} ms: {ratio}");
    }
    assert!(last > 0.3, "{last}");
}

#[test]
fn oais_window_stays_between_its_limits_on_a_steady_channel() {
    let outer_loop = OuterLoop::Window { lower: 0.05, upper: 0.15 };
    let config = nr(AdaptationConfig { outer_loop, ..AdaptationConfig::default() });
    for snr_db in [8.4, 13.1, 21.7] {
        let (_, report) = run(config.clone(), constant(snr_db), 60);
        // One MCS is 1 to 2 dB: its error rate jumps over the window, and the loop between two.
        assert!((0.01..0.3).contains(&first_errors(&report)), "{snr_db}: {report:?}");
        assert!((0.0..0.25).contains(&report.dl_bler), "{snr_db}: {}", report.dl_bler);
    }
}

#[test]
fn combining_delivers_what_first_transmissions_lose() {
    for combining in [Combining::Chase, Combining::IncrementalRedundancy] {
        let config = nr(AdaptationConfig { combining, ..AdaptationConfig::default() });
        let (_, report) = run(config, constant(12.0), 60);
        let [first, second, third, ..] = report.dl_harq;
        assert!(second * 8 < first && third * 20 < second, "{combining:?}: {:?}", report.dl_harq);
        assert_eq!(report.dl_harq[4], 0, "{combining:?}");
    }
}

#[test]
fn the_cqi_of_the_report_is_that_of_the_channel() {
    let at = |snr_db| run(nr(AdaptationConfig::default()), constant(snr_db), 1).1.wb_cqi;
    let all: Vec<u8> = (-10..35).map(|snr_db| at(f64::from(snr_db))).collect();
    assert!(all.is_sorted());
    assert_eq!((all[0], all[44]), (0, 15));
    let (bytes, _) = run(nr(AdaptationConfig::default()), constant(-20.0), 1);
    assert_eq!(bytes, 0, "CQI 0 is out of range");
}

#[test]
fn invalid_adaptation_is_refused() {
    let good = AdaptationConfig::default();
    for (adaptation, expected) in [
        (
            AdaptationConfig { cqi_delay_us: 0, ..good },
            "adaptation.cqi_delay_us: 0; expected 500 (a slot) to 1000000 µs",
        ),
        (
            AdaptationConfig { outer_loop: OuterLoop::Off { target_bler: 0.0 }, ..good },
            "adaptation.target_bler: 0; expected 0.000001 to 0.9",
        ),
        (
            AdaptationConfig { outer_loop: OuterLoop::Window { lower: 0.2, upper: 0.1 }, ..good },
            "adaptation.upper: 0.1; expected more than lower = 0.2",
        ),
    ] {
        assert_eq!(nr(adaptation).validate().unwrap_err().to_string(), expected);
    }
}
