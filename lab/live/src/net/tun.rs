//! A TUN device with the header of virtio-net before each packet, which lets kernel and lab exchange
//! segments of 64 KiB.
#![allow(unsafe_code, reason = "ioctls of the TUN driver; each states why it is sound")]

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::error::LiveError;
use crate::offload::VNET_HEADER_BYTES;

/// Longest packet with its virtio-net header.
pub(crate) const MAX_FRAME_BYTES: usize = VNET_HEADER_BYTES + 65_535;

// TUNSETIFF and TUNSETOFFLOAD of linux/if_tun.h.
nix::ioctl_write_ptr!(set_interface, b'T', 202, libc::c_int);
nix::ioctl_write_int!(set_offload, b'T', 208);

/// TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6: the kernel may hand over segments larger than the MTU, and
/// without checksum.
const OFFLOAD: u32 = 0x01 | 0x02 | 0x04;

/// An open TUN device.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

impl Tun {
    /// Makes a device in the namespace of the present thread. It is gone when the descriptor is closed.
    pub(crate) fn open(name: &str) -> Result<Self, LiveError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(|source| LiveError::Tun { source })?;
        // SAFETY: all bytes zero are a valid `ifreq`: integers, arrays of them and a null pointer.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1))
        {
            *place = byte as libc::c_char;
        }
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // SAFETY: the kernel reads and writes an `ifreq` at the pointer, which lives until the call
        // returns; the type of the request's code is `int` by its definition.
        unsafe { set_interface(file.as_raw_fd(), (&raw mut request).cast::<libc::c_int>()) }
            .map_err(LiveError::setup(format!("TUN device {name}")))?;
        // SAFETY: the argument is a number, no pointer.
        unsafe {
            set_offload(file.as_raw_fd(), u64::from(OFFLOAD) as nix::sys::ioctl::ioctl_param_type)
        }
        .map_err(LiveError::setup(format!("segmentation offload of TUN device {name}")))?;
        Ok(Self { file })
    }

    /// The next packet with its header; `None` if there is none now.
    pub(crate) fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(buffer.get(..length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet with its header.
    pub(crate) fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        (&self.file).write_vectored(parts).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
