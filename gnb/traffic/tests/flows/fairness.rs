//! Two flows of a kind share a bottleneck.

use traffic::{CongestionControl, TcpConfig};

use crate::pair::{ALL, Link, with};
use crate::shared::{Shared, jain};

/// 20 Mbit/s, 40 ms: a BDP of 67 packets, and as much buffer. Prague gets its step marker.
fn bottleneck(congestion: CongestionControl) -> Link {
    let mut link = Link::new(20_000_000, 0, 67);
    if congestion == CongestionControl::Prague {
        link.mark_above_us = Some(1_000);
    }
    link
}

#[test]
fn two_flows_of_a_kind_share_alike() {
    for congestion in ALL {
        // A setpoint that is a multiple of the least RTT seen would favour the one who comes later
        // and has never seen the empty path.
        let setpoint_ms = (congestion == CongestionControl::C2tcp).then_some(60);
        let config = TcpConfig { c2tcp_setpoint_ms: setpoint_ms, ..with(congestion) };
        let flows = [(config.clone(), 0, 40_000), (config, 5, 40_000)];
        let mut shared = Shared::new(bottleneck(congestion), &flows);
        shared.run_until(120_000_000);
        let rates = shared.goodputs_bps(40_000_000, 120_000_000);
        let (jain, total) = (jain(&rates), rates.iter().sum::<f64>() / 19.3e6);
        assert!(jain >= 0.9, "{congestion:?}: {jain:.3} of {rates:?}");
        assert!(total > 0.75, "{congestion:?}: {total:.3} of {rates:?}");
    }
}

/// draft-briscoe-iccrg-prague-congestion-control-03 §2.4.4: Prague on a short path does not starve
/// Prague on a long one; Reno does.
#[test]
fn prague_is_independent_of_the_round_trip_below_25_ms() {
    let run = |congestion: CongestionControl| {
        let flows = [(with(congestion), 0, 5_000), (with(congestion), 0, 25_000)];
        let mut shared = Shared::new(bottleneck(congestion), &flows);
        shared.run_until(60_000_000);
        let rates = shared.goodputs_bps(20_000_000, 60_000_000);
        rates[0] / rates[1]
    };
    let ratio = run(CongestionControl::Prague);
    assert!((0.5..2.0).contains(&ratio), "{ratio:.2}");
}
