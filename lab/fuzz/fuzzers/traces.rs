//! Fuzzes the target of this name.
#![no_main]

sojourn_fuzz::fuzzer!(lab_fuzz::traces);
