//! Requests to rtnetlink(7): links up, addresses, routes.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendmsg, socket,
};

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const ERROR: u16 = 2;
/// NLM_F_REQUEST | NLM_F_ACK.
const REQUEST: u16 = 0x5;
/// NLM_F_CREATE | NLM_F_EXCL.
const CREATE: u16 = 0x600;

const LINK_MTU: u16 = 4;
const ADDRESS_ADDRESS: u16 = 1;
const ADDRESS_LOCAL: u16 = 2;
const ROUTE_DESTINATION: u16 = 1;
const ROUTE_DEVICE: u16 = 4;

/// IFF_UP.
const UP: u32 = 1;
/// IFA_F_NODAD: nobody else on the link could have the address.
const NO_DAD: u8 = 2;
/// RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST.
const ROUTE: [u8; 4] = [254, 4, 253, 1];

/// Length of the header of a message.
const HEADER_BYTES: usize = 16;

/// A socket to the kernel's tables of the present thread's namespace.
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sets a device up, and its MTU.
    pub(super) fn set_up(&mut self, device: &str, mtu_bytes: Option<u32>) -> io::Result<()> {
        let index = if_nametoindex(device)?;
        // ifinfomsg: family, padding, type, index, flags, mask of flags.
        let mut body = vec![0; 4];
        body.extend(index.to_ne_bytes());
        body.extend(UP.to_ne_bytes());
        body.extend(UP.to_ne_bytes());
        if let Some(mtu_bytes) = mtu_bytes {
            attribute(&mut body, LINK_MTU, &mtu_bytes.to_ne_bytes());
        }
        self.request(NEW_LINK, 0, &body)
    }

    /// Gives a device an address that has no network of its own.
    pub(super) fn add_address(&mut self, device: &str, address: IpAddr) -> io::Result<()> {
        let bytes = octets(address);
        // ifaddrmsg: family, prefix length, flags, scope, index.
        let mut body = vec![family(address), (bytes.len() * 8) as u8, NO_DAD, 0];
        body.extend(if_nametoindex(device)?.to_ne_bytes());
        attribute(&mut body, ADDRESS_LOCAL, &bytes);
        attribute(&mut body, ADDRESS_ADDRESS, &bytes);
        self.request(NEW_ADDRESS, CREATE, &body)
    }

    /// Routes a prefix to a device.
    pub(super) fn add_route(
        &mut self,
        device: &str,
        destination: IpAddr,
        prefix_length: u8,
    ) -> io::Result<()> {
        // rtmsg: family, lengths of destination and source, TOS, then ROUTE and flags.
        let mut body = vec![family(destination), prefix_length, 0, 0];
        body.extend(ROUTE);
        body.extend([0; 4]);
        if prefix_length > 0 {
            attribute(&mut body, ROUTE_DESTINATION, &octets(destination));
        }
        attribute(&mut body, ROUTE_DEVICE, &if_nametoindex(device)?.to_ne_bytes());
        self.request(NEW_ROUTE, CREATE, &body)
    }

    /// Sends a request and waits for its acknowledgement.
    fn request(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
        message.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((REQUEST | flags).to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        let kernel = NetlinkAddr::new(0, 0);
        let parts = [IoSlice::new(&message)];
        sendmsg(self.socket.as_raw_fd(), &parts, &[], MsgFlags::empty(), Some(&kernel))?;
        let mut answer = [0; 4096];
        let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        acknowledged(answer.get(..length).unwrap_or_default())
    }
}

/// Reads an acknowledgement: a message of kind ERROR with code 0.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    let code = answer.get(HEADER_BYTES..HEADER_BYTES + 4);
    match (kind, code) {
        (Some(ERROR), Some(&[a, b, c, d])) => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        },
        _ => Err(io::Error::other("the kernel's answer is no acknowledgement")),
    }
}

fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_to_four_bytes() {
        let mut body = Vec::new();
        attribute(&mut body, 8, &[1]);
        attribute(&mut body, 4, &[9; 4]);
        let lengths = [5_u16.to_ne_bytes(), 8_u16.to_ne_bytes(), 8_u16.to_ne_bytes()].concat();
        assert_eq!(body[..4], lengths[..4]);
        assert_eq!(body[4..8], [1, 0, 0, 0]);
        assert_eq!((body.len(), &body[8..10]), (16, &8_u16.to_ne_bytes()[..]));
    }

    #[test]
    fn a_refusal_is_the_kernels_error() {
        let answer = |code: i32| {
            let mut bytes = vec![36, 0, 0, 0];
            bytes.extend(ERROR.to_ne_bytes());
            bytes.extend([0; 10]);
            bytes.extend(code.to_ne_bytes());
            bytes
        };
        assert!(acknowledged(&answer(0)).is_ok());
        let error = acknowledged(&answer(-libc::EPERM)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        for length in 0..20 {
            assert!(acknowledged(&answer(0)[..length]).is_err(), "{length} bytes");
        }
    }
}
