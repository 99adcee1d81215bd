//! Small numbers of which the same often comes again: runs of one number, and packed eights of several.

use super::bits::put_packed;
use super::thrift::put_varint;

/// So many of the same number are worth a run.
const EIGHT: usize = 8;
/// So many are packed at once where they are mixed.
const PIECE: usize = 4_096;
/// So many values are compared at once where a run is long.
const BLOCK: usize = 64;

/// Hands what each value is to `take`, and how often that comes in a row.
#[inline]
pub(super) fn each_run<T, K: PartialEq + Copy>(
    mut values: &[T],
    of: impl Fn(&T) -> K,
    mut take: impl FnMut(K, usize),
) {
    while let Some(first) = values.first() {
        let first = of(first);
        let (run, rest) = values.split_at(run_length(values, |value| of(value) == first).max(1));
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

/// What comes next: so often the same number, or so many of the mixed ones.
#[derive(Clone, Copy)]
enum Run {
    Same(u32, usize),
    Mixed(usize),
}

/// Numbers in the order in which they came.
#[derive(Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    mixed: Vec<u32>,
}

impl Runs {
    /// `count` times the number `value`.
    #[inline]
    pub(super) fn push(&mut self, value: u32, count: usize) {
        match self.runs.last_mut() {
            Some(Run::Same(last, times)) if *last == value => *times += count,
            _ => self.runs.push(Run::Same(value, count)),
        }
    }

    /// Numbers that are not all the same.
    #[inline]
    pub(super) fn push_each(&mut self, values: &[u32]) {
        self.mixed.extend_from_slice(values);
        match self.runs.last_mut() {
            Some(Run::Mixed(count)) => *count += values.len(),
            _ => self.runs.push(Run::Mixed(values.len())),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Becomes the same as others.
    pub(super) fn follow(&mut self, other: &Self) {
        self.runs.clone_from(&other.runs);
        self.mixed.clone_from(&other.mixed);
    }

    /// Forgets them and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.mixed.clear();
    }

    /// Appends all of them, in `width` bits each.
    pub(super) fn put(&self, out: &mut Vec<u8>, width: u32) {
        let (mut eights, mut mixed) = (Vec::new(), self.mixed.as_slice());
        for &run in &self.runs {
            match run {
                Run::Same(value, count) => put_same(out, &mut eights, (value, count), width),
                Run::Mixed(count) => {
                    let (some, rest) = mixed.split_at(count.min(mixed.len()));
                    some.chunks(PIECE).for_each(|piece| put_mixed(out, &mut eights, piece, width));
                    mixed = rest;
                }
            }
        }
        put_eights(out, &mut eights, width);
    }
}

/// Eights are whole before a run begins: only the last may have gaps.
fn put_same(out: &mut Vec<u8>, eights: &mut Vec<u64>, (value, mut count): (u32, usize), width: u32) {
    let fill = count.min((EIGHT - eights.len() % EIGHT) % EIGHT);
    eights.resize(eights.len() + fill, u64::from(value));
    count -= fill;
    if count >= EIGHT {
        put_eights(out, eights, width);
        put_run(out, value, count, width);
    } else {
        eights.resize(eights.len() + count, u64::from(value));
    }
}

fn put_mixed(out: &mut Vec<u8>, eights: &mut Vec<u64>, values: &[u32], width: u32) {
    eights.extend(values.iter().map(|&value| u64::from(value)));
    if eights.len() >= PIECE && eights.len() % EIGHT == 0 {
        put_eights(out, eights, width);
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
