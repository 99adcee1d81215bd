//! Numbers that grow: what each is above the one before, in blocks that are packed (`DELTA_BINARY_PACKED`).

use super::bits::{put_packed, width_of};
use super::thrift::{put_varint, zigzag};

const BLOCK: usize = 128;
const MINIS: usize = 4;
const MINI: usize = BLOCK / MINIS;

/// Appends the numbers.
pub(super) fn put_deltas(out: &mut Vec<u8>, values: &[i64]) {
    let first = values.first().copied().unwrap_or(0);
    put_varint(out, BLOCK as u64);
    put_varint(out, MINIS as u64);
    put_varint(out, values.len() as u64);
    put_varint(out, zigzag(first));
    let mut last = first;
    for block in values.get(1..).unwrap_or_default().chunks(BLOCK) {
        last = put_block(out, block, last);
    }
}

/// Appends a block of numbers of which `before` comes before the first; returns the last.
fn put_block(out: &mut Vec<u8>, block: &[i64], before: i64) -> i64 {
    let mut deltas = [0i64; BLOCK];
    let mut last = before;
    for (delta, &value) in deltas.iter_mut().zip(block) {
        *delta = value.wrapping_sub(last);
        last = value;
    }
    let least = deltas[..block.len()].iter().copied().min().unwrap_or(0);
    // What fills up the last part is as small as can be.
    deltas[block.len()..].fill(least);
    let above = deltas.map(|delta| delta.wrapping_sub(least) as u64);
    put_varint(out, zigzag(least));
    let width = |mini: &[u64]| width_of(mini.iter().fold(0, |all, value| all | value));
    out.extend(above.chunks(MINI).map(|mini| width(mini) as u8));
    for mini in above.chunks(MINI).take(block.len().div_ceil(MINI)) {
        match width(mini) {
            0 => {}
            width => put_packed(out, mini, width),
        }
    }
    last
}
