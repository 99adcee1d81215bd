//! The order of cells of [Li11] Fig. 3: rounds of falling weight, each serving the topics that
//! weigh at least as much. Weights 4, 3, 2 give AABABCABC.

/// Cells of one cycle. `weights` are divided by their greatest common divisor.
pub(super) fn cells(weights: &[u32]) -> Vec<u32> {
    let mut by_weight: Vec<u32> =
        (0..weights.len() as u32).filter(|&topic| weights[topic as usize] > 0).collect();
    by_weight.sort_by_key(|&topic| std::cmp::Reverse(weights[topic as usize]));
    let rounds = by_weight.first().map_or(0, |&topic| weights[topic as usize]);

    let mut cells = Vec::with_capacity(weights.iter().map(|&weight| weight as usize).sum());
    let mut serving: Vec<u32> = Vec::new();
    let mut joined = 0;
    for round in (1..=rounds).rev() {
        let before = joined;
        while by_weight.get(joined).is_some_and(|&topic| weights[topic as usize] >= round) {
            joined += 1;
        }
        if joined > before {
            serving.extend(&by_weight[before..joined]);
            serving.sort_unstable();
        }
        cells.extend(&serving);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fig. 3 word for word.
    fn figure_3(weights: &[u32]) -> Vec<u32> {
        let (max, total) = (*weights.iter().max().unwrap(), weights.iter().sum::<u32>());
        let (mut k, mut cw, mut cells) = (-1i64, 0, Vec::new());
        while cells.len() < total as usize {
            k = (k + 1) % weights.len() as i64;
            if k == 0 {
                cw -= 1;
                if cw <= 0 {
                    cw = i64::from(max);
                }
            }
            if i64::from(weights[k as usize]) >= cw {
                cells.push(k as u32);
            }
        }
        cells
    }

    #[test]
    fn weights_4_3_2_give_aababcabc() {
        let letters: String = cells(&[4, 3, 2]).iter().map(|&topic| (b'A' + topic as u8) as char).collect();
        assert_eq!(letters, "AABABCABC");
    }

    proptest::proptest! {
        #[test]
        fn is_figure_3(weights in proptest::collection::vec(1u32..20, 1..12)) {
            proptest::prop_assert_eq!(cells(&weights), figure_3(&weights));
        }
    }
}
