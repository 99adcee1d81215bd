//! What is random in a run: one stream of numbers per component, named by what it is for.
//!
//! A stream begins where the scenario's seed, the kind of component and its name say, so that a component
//! that is added or taken away shifts nobody else's draws. The generator is xoshiro256++ (Blackman and Vigna)
//! filled by SplitMix64; logarithms come from `libm`, so every machine draws the same bits.

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Chance {
    state: [u64; 4],
    /// The second number of the pair that the polar method makes.
    spare: Option<f64>,
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;

/// FNV-1a; the 0xff between parts occurs in no UTF-8, so that no two lists of parts run together.
fn fingerprint(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
    bytes.fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Chance {
    /// The stream that `parts` name in a scenario with this seed.
    pub fn new(seed: u64, parts: &[&str]) -> Self {
        let mut scenario = seed;
        let mut filler = split_mix(&mut scenario) ^ fingerprint(parts);
        Self { state: std::array::from_fn(|_| split_mix(&mut filler)), spare: None }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Uniform from 0 to below 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * UNIT
    }

    /// A whole number from `low` to `high`, both included, each as likely as the others.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let Some(count) = high.abs_diff(low).checked_add(1) else { return self.bits() as i64 };
        // The multiples of `count` that fit into 64 bits end here; what lies above is drawn again.
        let most = u64::MAX - (u64::MAX % count + 1) % count;
        loop {
            let bits = self.bits();
            if bits <= most {
                return low.wrapping_add((bits % count) as i64);
            }
        }
    }

    /// Normal with mean 0 and deviation 1, by the polar method of Marsaglia.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * libm::log(square) / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_the_published_numbers_of_xoshiro256_plus_plus() {
        let mut chance = Chance { state: [1, 2, 3, 4], spare: None };
        let drawn: Vec<u64> = (0..4).map(|_| chance.bits()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn names_that_run_together_have_streams_of_their_own() {
        let first = |parts: &[&str]| Chance::new(7, parts).bits();
        assert_ne!(first(&["link", "ab", "c"]), first(&["link", "a", "bc"]));
        assert_ne!(Chance::new(8, &["link"]).bits(), first(&["link"]));
        assert_eq!(first(&["link"]), first(&["link"]));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut chance = Chance::new(1, &["test"]);
        let n = 200_000;
        let mean = |draws: Vec<f64>| draws.iter().sum::<f64>() / f64::from(n);
        let normal: Vec<f64> = (0..n).map(|_| chance.normal()).collect();
        assert!(mean(normal.clone()).abs() < 0.02);
        assert!((mean(normal.iter().map(|x| x * x).collect()) - 1.0).abs() < 0.03);
        assert!((mean((0..n).map(|_| chance.exponential()).collect()) - 1.0).abs() < 0.03);
        assert!((mean((0..n).map(|_| chance.between(1, 5) as f64).collect()) - 3.0).abs() < 0.03);
    }
}
