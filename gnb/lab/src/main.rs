//! `gnb-lab`, the command line.

fn main() {}
