//! Fuzzes the target of this name.
#![no_main]

sojourn_fuzz::fuzzer!(sojourn_fuzz::e2sm_tc_v1);
