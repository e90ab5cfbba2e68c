//! Fuzz targets of the product's parsers, and what all targets share: bytes in, a panic for a finding.
//!
//! A target is a function of bytes, which `fuzzers` gives to libFuzzer and `tests` runs over the
//! committed inputs. Beyond not panicking, what was read must be written and read again as the
//! same, and memory must stay within a bound for the length of the input.
#![allow(clippy::panic, clippy::expect_used, reason = "a panic is how a finding is reported")]

mod cursor;
pub mod inputs;
mod targets;

use std::sync::Mutex;

use peak_alloc::PeakAlloc;

pub use cursor::Cursor;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// A parser to be fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also that of its program and of its folder of inputs.
    pub name: &'static str,
    /// Panics on a finding.
    pub check: fn(&[u8]),
    /// Longest input.
    pub max_bytes: usize,
    /// Most memory that an input may take: so many bytes, and so many per byte of it.
    pub memory: (usize, usize),
}

/// The table of a crate's targets: a constant for each, and `ALL`. The function of a target is `check` of its module in
/// `targets`.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the modules of the crate that has the table")]
macro_rules! targets {
    ($($name:ident: $max_bytes:expr, $memory:expr;)+) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            #[allow(non_upper_case_globals, reason = "named as its program")]
            pub const $name: $crate::Target = $crate::Target {
                name: stringify!($name),
                check: crate::targets::$name::check,
                max_bytes: $max_bytes,
                memory: $memory,
            };
        )+
        /// All targets.
        pub const ALL: &[$crate::Target] = &[$($name),+];
    };
}

/// Bytes.
pub const KIB: usize = 1 << 10;
/// Bytes.
pub const MIB: usize = 1 << 20;

// Memory per byte of input is that of the widest element that a few bits can stand for.
targets! {
    e2sm_tc_v0: 4 * KIB, (64 * KIB, 256);
    e2sm_tc_v1: 4 * KIB, (64 * KIB, 1024);
    e2sm_tc_json: 8 * KIB, (64 * KIB, 1024);
    templates: 4 * KIB, (256 * KIB, 256);
    tc_rf_calls: 4 * KIB, (64 * MIB, 4096);
    // Three bearers of 54 kB each, of which an input can ask for that many.
    rlc_native: 4 * KIB, (192 * KIB, 256);
}

/// Runs a target on an input.
///
/// # Panics
/// For a finding.
pub fn check(target: &Target, input: &[u8]) {
    warm_up(target);
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    (target.check)(input);
    let used = MEMORY.peak_usage().saturating_sub(before);
    let (base, per_byte) = target.memory;
    let most = base + per_byte * input.len();
    assert!(
        used <= most,
        "{}: {used} bytes of memory for an input of {} bytes; expected at most {most}",
        target.name,
        input.len()
    );
}

/// What a target makes once and keeps is not an input's.
fn warm_up(target: &Target) {
    static READY: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    let mut ready = READY.lock().expect("no target panicked in here");
    if !ready.contains(&target.name) {
        (target.check)(&[]);
        ready.push(target.name);
    }
}

/// The libFuzzer entry point of a target, which is named with its crate.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! fuzzer {
    ($target:path) => {
        libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::check(&$target, input));
    };
}
