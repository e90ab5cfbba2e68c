//! The two kinds of sides, server and UE: a network namespace with a TUN device, addresses and routes.

mod namespace;
mod netlink;
mod tun;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

pub(crate) use namespace::{Namespace, allow_namespaces};
pub(crate) use tun::{MAX_FRAME_BYTES, Tun};

use netlink::Netlink;

use crate::error::LiveError;

/// Name of the device in every namespace.
const DEVICE: &str = "lab0";

/// The pools of the UEs' addresses (`lab_world::ue_address`).
const UE_POOL: (IpAddr, u8) = (IpAddr::V4(Ipv4Addr::new(10, 45, 0, 0)), 16);
const UE_POOL_V6: (IpAddr, u8) =
    (IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x45, 0, 0, 0, 0, 0)), 48);
const ANYWHERE: (IpAddr, u8) = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
const ANYWHERE_V6: (IpAddr, u8) = (IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

/// A namespace with its device.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) namespace: Arc<Namespace>,
    pub(crate) tun: Arc<Tun>,
    pub(crate) address: IpAddr,
    pub(crate) address_v6: IpAddr,
}

impl Side {
    /// The server side.
    pub(crate) fn server(mtu_bytes: u32) -> Result<Self, LiveError> {
        let addresses = [lab_world::SERVER, lab_world::SERVER_V6];
        Self::new("the server's namespace", mtu_bytes, addresses, [UE_POOL, UE_POOL_V6])
    }

    /// The side of a UE.
    pub(crate) fn ue(rnti: u16, mtu_bytes: u32) -> Result<Self, LiveError> {
        let address = |version| lab_world::ue_address(rnti, version);
        let addresses = [address(traffic::IpVersion::V4), address(traffic::IpVersion::V6)];
        let name = format!("the namespace of UE {rnti}");
        Self::new(&name, mtu_bytes, addresses, [ANYWHERE, ANYWHERE_V6])
    }

    fn new(
        name: &str,
        mtu_bytes: u32,
        [address, address_v6]: [IpAddr; 2],
        routes: [(IpAddr, u8); 2],
    ) -> Result<Self, LiveError> {
        let (namespace, tun) = Namespace::with(name, || {
            let tun = Tun::open(DEVICE)?;
            let failed = |source| LiveError::Setup { what: name.to_owned(), source };
            configure(mtu_bytes, [address, address_v6], routes).map_err(failed)?;
            Ok(tun)
        })?;
        Ok(Self { namespace: Arc::new(namespace), tun: Arc::new(tun), address, address_v6 })
    }
}

/// Addresses, MTU and routes of the device in the namespace of this thread.
fn configure(
    mtu_bytes: u32,
    addresses: [IpAddr; 2],
    routes: [(IpAddr, u8); 2],
) -> std::io::Result<()> {
    let mut netlink = Netlink::open()?;
    netlink.set_up("lo", None)?;
    netlink.set_up(DEVICE, Some(mtu_bytes))?;
    for address in addresses {
        netlink.add_address(DEVICE, address)?;
    }
    for (destination, prefix_length) in routes {
        netlink.add_route(DEVICE, destination, prefix_length)?;
    }
    Ok(())
}
