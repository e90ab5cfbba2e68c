use criterion::{Criterion, criterion_group, criterion_main};
fn slot(_: &mut Criterion) {}
criterion_group!(benches, slot);
criterion_main!(benches);
