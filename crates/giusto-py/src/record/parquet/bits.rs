//! How numbers are packed: each in as few bits as the largest of them needs, lowest bit first.

/// So many numbers are packed together at most.
const PIECE: usize = 64;

/// Bits that `largest` needs.
pub(super) const fn width_of(largest: u64) -> u32 {
    64 - largest.leading_zeros()
}

/// Appends numbers of `width` bits each, from 1 to 64; the last byte is filled up with zeros.
pub(super) fn put_packed(out: &mut Vec<u8>, values: &[u64], width: u32) {
    // A whole piece takes whole bytes.
    values.chunks(PIECE).for_each(|piece| put_piece(out, piece, width));
}

fn put_piece(out: &mut Vec<u8>, values: &[u64], width: u32) {
    let mut packed = [0u8; PIECE * 8 + 8];
    let (mut waiting, mut bits, mut at) = (0u64, 0, 0);
    for &value in values {
        waiting |= value << bits;
        bits += width;
        if bits >= 64 {
            packed[at..at + 8].copy_from_slice(&waiting.to_le_bytes());
            at += 8;
            bits -= 64;
            waiting = value.checked_shr(width - bits).unwrap_or(0);
        }
    }
    packed[at..at + 8].copy_from_slice(&waiting.to_le_bytes());
    out.extend_from_slice(&packed[..at + bits.div_ceil(8) as usize]);
}
