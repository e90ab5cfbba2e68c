#![no_main]

use e2sm_tc::v1::ControlOutcome;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| e2sm_tc_fuzz::v1::<ControlOutcome>(bytes));
