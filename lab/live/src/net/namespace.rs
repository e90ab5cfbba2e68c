//! Network namespaces, held by a descriptor: when the last descriptor and process of one are gone, the
//! kernel removes it with its devices, whatever ended this process.

use std::fs::{self, File};
use std::io;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};

use crate::error::LiveError;

/// Kernel settings of a namespace: packets that nobody sent on purpose are kept off the radio, and
/// `ping` works without a raw socket.
const SETTINGS: [(&str, &str); 4] = [
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

/// Lets this process make network namespaces: as root it may; else it enters a user namespace of its
/// own, in which it is the same user. Call it before any thread starts: a user namespace is for a
/// process with one thread.
pub(crate) fn allow_namespaces() -> Result<(), LiveError> {
    if geteuid().is_root() {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)
        .map_err(|source| LiveError::Namespaces { source: source.into() })?;
    let map = |file: &str, text: String| {
        fs::write(file, text).map_err(|source| LiveError::Namespaces { source })
    };
    map("/proc/self/setgroups", "deny".to_owned())?;
    map("/proc/self/uid_map", format!("{user} {user} 1"))?;
    map("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    descriptor: File,
}

impl Namespace {
    /// A new namespace and what `set_up` makes in it.
    pub(crate) fn with<T: Send>(
        name: &str,
        set_up: impl FnOnce() -> Result<T, LiveError> + Send,
    ) -> Result<(Self, T), LiveError> {
        on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|source| LiveError::Namespaces { source: source.into() })?;
            let descriptor =
                File::open("/proc/thread-self/ns/net").map_err(LiveError::setup(name))?;
            let group = getegid();
            let ping = ("ipv4/ping_group_range", format!("{group} {group}"));
            let settings = SETTINGS.map(|(key, value)| (key, value.to_owned()));
            for (key, value) in settings.into_iter().chain([ping]) {
                if let Err(error) = fs::write(format!("/proc/sys/net/{key}"), value) {
                    tracing::debug!(key, %error, "the setting of {name} is unchanged");
                }
            }
            Ok((Self { descriptor }, set_up()?))
        })
        .map_err(LiveError::setup(name))?
    }

    /// Moves the present thread into the namespace.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.descriptor, CloneFlags::CLONE_NEWNET)?)
    }
}

/// The result of `work` on a thread of its own.
fn on_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread =
            thread::Builder::new().name("namespace".to_owned()).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("the thread panicked"))
    })
}
