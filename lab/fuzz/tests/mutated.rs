//! Mutations of the committed inputs pass their targets: fuzzing without coverage, the same inputs
//! in every run, for each run of the tests. `MUTATED_INPUTS` is how many for each target.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use sojourn_fuzz::{ALL, Target, check};

const DEFAULT_INPUTS: u64 = 20_000;
/// Numbers at the edges of formats: signs, lengths, tags.
const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'0', b'"', b'{'];
const MOST_STEPS: usize = 6;

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A part of `length` bytes, of 64 bytes at most.
    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..start + self.below((length - start).min(64) + 1)
    }
}

/// One step of a mutation. `other` is another input of the target.
fn mutate(random: &mut Random, input: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(input.len() + 1);
    match random.below(7) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = EDGES[random.below(EDGES.len())],
        2 => input.insert(at, random.next() as u8),
        3 => drop(input.drain(random.part(input.len()))),
        4 => {
            let copied = input[random.part(input.len())].to_vec();
            input.splice(at..at, copied);
        }
        5 => {
            let part = random.part(other.len());
            input.splice(at..at, other[part].iter().copied());
        }
        _ => input.truncate(at),
    }
}

fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

// One test, in a process of its own: memory is counted over the whole process.
#[test]
fn no_mutated_input_is_a_finding() {
    let inputs = std::env::var("MUTATED_INPUTS")
        .map_or(DEFAULT_INPUTS, |text| text.parse().expect("MUTATED_INPUTS is a number"));
    let mut findings = Vec::new();
    for target in ALL {
        let seeds = seeds(target);
        for number in 0..inputs {
            let mut random = Random(number);
            let mut input = seeds[random.below(seeds.len())].clone();
            for _ in 0..=random.below(MOST_STEPS) {
                let other = random.below(seeds.len());
                mutate(&mut random, &mut input, &seeds[other]);
            }
            input.truncate(target.max_bytes);
            if catch_unwind(|| check(target, &input)).is_err() {
                let name = format!("mutated-{}-{number}", target.name);
                let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
                fs::write(&file, &input).unwrap();
                findings.push(file);
                break;
            }
        }
    }
    assert!(findings.is_empty(), "{findings:#?}");
}
