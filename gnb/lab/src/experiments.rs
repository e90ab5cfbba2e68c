//! Published experiments as data: what to run, how to measure, what was published.

pub mod irazabal2021;
