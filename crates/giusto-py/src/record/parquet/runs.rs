//! Small numbers of which the same often comes again: runs of one number, and packed eights of several.

use super::bits::put_packed;
use super::thrift::put_varint;

/// So many of the same number are worth a run.
const EIGHT: usize = 8;
/// So many values are compared at once where a run is long.
const BLOCK: usize = 64;

/// Hands what each value is to `take`, and how often that comes in a row.
#[inline]
pub(super) fn each_run<T: Copy, K: PartialEq + Copy>(
    mut values: &[T],
    of: impl Fn(T) -> K,
    mut take: impl FnMut(K, usize),
) {
    while let Some(&first) = values.first() {
        let first = of(first);
        let (run, rest) = values.split_at(run_length(values, |&value| of(value) == first).max(1));
        take(first, run.len());
        values = rest;
    }
}

/// How many values from the first on are the same.
#[inline]
fn run_length<T>(values: &[T], is_same: impl Fn(&T) -> bool) -> usize {
    let some = &values[..values.len().min(EIGHT)];
    let short = some.iter().take_while(|&value| is_same(value)).count();
    if short < EIGHT {
        return short;
    }
    // Every value of a block is looked at, so that the processor can do it for several at once.
    let is_all = |block: &&[T]| block.iter().fold(true, |all, value| all & is_same(value));
    let blocks = values[short..].chunks_exact(BLOCK).take_while(is_all).count();
    let long = short + blocks * BLOCK;
    long + values[long..].iter().take_while(|&value| is_same(value)).count()
}

/// Numbers in the order in which they came, as runs of the same.
#[derive(Default)]
pub(super) struct Runs {
    runs: Vec<(u32, usize)>,
}

impl Runs {
    /// `count` times the number `value`.
    #[inline]
    pub(super) fn push(&mut self, value: u32, count: usize) {
        match self.runs.last_mut() {
            Some(run) if run.0 == value => run.1 += count,
            _ => self.runs.push((value, count)),
        }
    }

    /// Appends all of them, in `width` bits each.
    pub(super) fn put(&self, out: &mut Vec<u8>, width: u32) {
        let mut mixed = Vec::new();
        for &(value, mut count) in &self.runs {
            // Eights are whole before a run begins: only the last may have gaps.
            let fill = count.min((EIGHT - mixed.len() % EIGHT) % EIGHT);
            mixed.resize(mixed.len() + fill, u64::from(value));
            count -= fill;
            if count >= EIGHT {
                put_eights(out, &mut mixed, width);
                put_run(out, value, count, width);
            } else {
                mixed.resize(mixed.len() + count, u64::from(value));
            }
        }
        put_eights(out, &mut mixed, width);
    }
}

fn put_run(out: &mut Vec<u8>, value: u32, count: usize, width: u32) {
    put_varint(out, (count as u64) << 1);
    out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

fn put_eights(out: &mut Vec<u8>, values: &mut Vec<u64>, width: u32) {
    if values.is_empty() {
        return;
    }
    let eights = values.len().div_ceil(EIGHT);
    values.resize(eights * EIGHT, 0);
    put_varint(out, (eights as u64) << 1 | 1);
    put_packed(out, values, width);
    values.clear();
}
