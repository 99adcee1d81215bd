//! How numbers are packed: each in as few bits as the largest of them needs, lowest bit first.

/// Bits that `largest` needs.
pub(super) const fn width_of(largest: u64) -> u32 {
    64 - largest.leading_zeros()
}

/// Appends numbers of `width` bits each; the last byte is filled up with zeros.
pub(super) fn put_packed(out: &mut Vec<u8>, values: &[u64], width: u32) {
    let (mut waiting, mut bits) = (0u128, 0);
    for &value in values {
        waiting |= u128::from(value) << bits;
        bits += width;
        if bits >= 64 {
            out.extend_from_slice(&(waiting as u64).to_le_bytes());
            waiting >>= 64;
            bits -= 64;
        }
    }
    out.extend_from_slice(&(waiting as u64).to_le_bytes()[..bits.div_ceil(8) as usize]);
}
