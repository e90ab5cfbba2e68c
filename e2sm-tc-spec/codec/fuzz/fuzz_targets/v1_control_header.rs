#![no_main]

use e2sm_tc::v1::ControlHeader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| e2sm_tc_fuzz::v1::<ControlHeader>(bytes));
