//! `BearerId` and addresses.

use crate::error::{DecodeError, EncodeError, Problem};
use std::net::IpAddr;

use crate::v1::model::*;
use crate::v1::per::*;

choice!(UeId { ...
    0 rnti => Rnti(U16),
    1 gnb_cu_ue_f1ap_id => GnbCuUeF1apId(U32),
});

sequence!(BearerId { ue: UeId, drb: Int<1, 32> });

choice!(foreign IpAddr {
    0 v4 => V4(Address4),
    1 v6 => V6(Address6),
});

choice!(Prefix {
    0 v4 => V4 { address: Address4, length: Int<0, 32> },
    1 v6 => V6 { address: Address6, length: Int<0, 128> },
});

sequence!(PortRange { low: U16, high: U16 });

enumerated!(Ecn {
    0 "not-ect" => NotEct,
    1 "ect1" => Ect1,
    2 "ect0" => Ect0,
    3 "ce" => Ce,
});

sequence!(FiveTuple {
    source: IpAddr,
    destination: IpAddr,
    source_port: U16,
    destination_port: U16,
    protocol: Int<0, 255>,
});
