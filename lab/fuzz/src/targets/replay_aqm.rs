//! Lines of `gnb-lab replay-aqm`: each is answered with steps or an error.

pub(crate) fn check(input: &[u8]) {
    let mut answers = Vec::new();
    let summary = replay_aqm::run(input, &mut answers).expect("no reader or writer fails");
    let lines = answers.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(lines, summary.cases + summary.errors);
}
