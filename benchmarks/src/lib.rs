//! What every benchmark program shares: a seeded generator, a timer for rounds, one line of JSON per figure.

pub mod dialect;
pub mod load;
pub mod wire;

use std::time::Instant;

/// SplitMix64: small, seeded, the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream that depends on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A whole number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Nanoseconds that `work` took.
pub fn time_ns(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// The middle value; `values` is sorted in passing.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints one figure as a line of JSON: `{"bench": …, "case": …, "value": …, "unit": …}`.
pub fn report(bench: &str, case: &str, value: f64, unit: &str) {
    println!(r#"{{"bench": "{bench}", "case": "{case}", "value": {value:.4}, "unit": "{unit}"}}"#);
}

/// Refuses to measure a debug build.
pub fn require_release() {
    if cfg!(debug_assertions) {
        eprintln!("benchmarks need a release build: run `make bench`");
        std::process::exit(2);
    }
}
