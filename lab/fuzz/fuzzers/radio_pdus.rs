//! Fuzzes the target of this name.
#![no_main]

sojourn_fuzz::fuzzer!(radio_pdus);
