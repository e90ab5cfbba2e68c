//! The committed inputs of targets, and mutations of them: fuzzing without coverage, the same inputs in
//! every run.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::{Target, check};

const DEFAULT_INPUTS: u64 = 20_000;
/// Numbers at the edges of formats: signs, lengths, tags.
const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'0', b'"', b'{'];
const MOST_STEPS: usize = 6;

/// Random choices of a mutation.
struct Random(SplitMix64);

impl Random {
    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
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
        2 => input.insert(at, random.0.next_u64() as u8),
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

/// The files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).and_then(Iterator::collect);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    files.sort();
    files
}

fn contents(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The committed inputs of these targets that are findings; `folder` is that of their crate.
///
/// # Panics
/// If a target has fewer than 3 inputs, or one longer than it takes.
pub fn committed_findings(targets: &[Target], folder: &Path) -> Vec<PathBuf> {
    let mut findings = Vec::new();
    for target in targets {
        let inputs = files(&folder.join("corpus").join(target.name));
        assert!(inputs.len() >= 3, "{}: {} inputs", target.name, inputs.len());
        for file in inputs {
            let input = contents(&file);
            assert!(input.len() <= target.max_bytes, "{}", file.display());
            if catch_unwind(|| check(target, &input)).is_err() {
                findings.push(file);
            }
        }
    }
    findings
}

/// The first mutated input of each of these targets that is a finding, written to `out`. `MUTATED_INPUTS` is how many
/// are tried for each.
///
/// # Panics
/// If `MUTATED_INPUTS` is no number, or a file cannot be read or written.
pub fn mutated_findings(targets: &[Target], folder: &Path, out: &Path) -> Vec<PathBuf> {
    let count = std::env::var("MUTATED_INPUTS")
        .map_or(DEFAULT_INPUTS, |text| text.parse().expect("MUTATED_INPUTS is a number"));
    let mut findings = Vec::new();
    for target in targets {
        let seeds: Vec<Vec<u8>> = files(&folder.join("corpus").join(target.name))
            .iter()
            .map(|file| contents(file))
            .collect();
        for number in 0..count {
            let mut random = Random(SplitMix64::seed_from_u64(number));
            let mut input = seeds[random.below(seeds.len())].clone();
            for _ in 0..=random.below(MOST_STEPS) {
                let other = random.below(seeds.len());
                mutate(&mut random, &mut input, &seeds[other]);
            }
            input.truncate(target.max_bytes);
            if catch_unwind(|| check(target, &input)).is_err() {
                let file = out.join(format!("mutated-{}-{number}", target.name));
                fs::write(&file, &input).expect("the folder of findings can be written");
                findings.push(file);
                break;
            }
        }
    }
    findings
}

/// Asserts that every target has its program and its folder of inputs, and that there are no others.
///
/// # Panics
/// If one lacks or is too many.
pub fn assert_complete(targets: &[Target], folder: &Path) {
    for part in ["fuzzers", "corpus"] {
        let found: Vec<PathBuf> =
            files(&folder.join(part)).iter().map(|path| path.with_extension("")).collect();
        let mut names: Vec<PathBuf> =
            targets.iter().map(|target| folder.join(part).join(target.name)).collect();
        names.sort();
        assert_eq!(found, names);
    }
}
