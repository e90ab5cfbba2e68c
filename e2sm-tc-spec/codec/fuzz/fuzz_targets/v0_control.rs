#![no_main]

use e2sm_tc::v0::ControlMessage;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| e2sm_tc_fuzz::v0::<ControlMessage>(bytes));
