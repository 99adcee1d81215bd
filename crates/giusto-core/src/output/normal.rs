//! The standard normal distribution: exact enough to decide by, and fast enough to bound with.

use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::LazyLock;

/// From here on [`cumulative`] returns exactly 1.
pub(super) const CERTAIN: f64 = 9.0;
const FIRST: f64 = -10.0;
const CELLS_PER_UNIT: f64 = 64.0;

/// Φ(z): what every success probability is computed with.
pub fn cumulative(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The greatest z with Φ(z) ≤ `probability`, within one step of f64.
pub(super) fn quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return low;
        }
        if cumulative(middle) <= probability {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Φ on one interval of the grid: a chord, and how far Φ can be from it.
#[derive(Clone, Copy)]
struct Cell {
    value: f64,
    rise: f64,
    error: f64,
}

/// Φ by linear interpolation with a proved error: about a tenth of the cost of [`cumulative`].
pub(super) struct Table(Vec<Cell>);

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

impl Table {
    /// The one table, computed at the first call.
    pub(super) fn shared() -> &'static Self {
        &TABLE
    }

    fn new() -> Self {
        let cells = ((CERTAIN - FIRST) * CELLS_PER_UNIT) as usize;
        Self((0..cells).map(Self::cell).collect())
    }

    fn cell(index: usize) -> Cell {
        let left = FIRST + index as f64 / CELLS_PER_UNIT;
        let right = left + 1.0 / CELLS_PER_UNIT;
        let (value, next) = (cumulative(left), cumulative(right));
        // A chord errs by at most h²/8 · max|Φ″|, and |Φ″(z)| = |z|φ(z) is monotone within every cell, because
        // its turning points 0 and ±1 are grid points. The 1 % and the last term cover rounding.
        let bend = bend(left).max(bend(right));
        let error = 1.01 * bend / (8.0 * CELLS_PER_UNIT * CELLS_PER_UNIT) + 4e-16 * next;
        Cell { value, rise: next - value, error }
    }

    /// A value and an error with |Φ(z) - value| ≤ error.
    #[inline]
    pub(super) fn lookup(&self, z: f64) -> (f64, f64) {
        if z >= CERTAIN {
            return (1.0, 0.0);
        }
        let offset = (z - FIRST) * CELLS_PER_UNIT;
        if offset < 0.0 {
            return (0.0, 1e-20);
        }
        let index = offset as i32;
        let Some(cell) = self.0.get(index as usize) else { return (1.0, 1e-16) };
        (cell.value + (offset - f64::from(index)) * cell.rise, cell.error)
    }
}

fn bend(z: f64) -> f64 {
    z.abs() * (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_is_exactly_one() {
        assert_eq!(cumulative(CERTAIN), 1.0);
        assert_eq!(cumulative(f64::INFINITY), 1.0);
        assert_eq!(cumulative(f64::NEG_INFINITY), 0.0);
    }

    #[test]
    fn known_values() {
        for (z, expected) in [(0.0, 0.5), (1.0, 0.841_344_746_068_542_9), (-1.959_963_984_540_054, 0.025)] {
            assert!((cumulative(z) - expected).abs() < 1e-15, "Φ({z})");
        }
    }

    #[test]
    fn quantile_is_the_last_z_that_does_not_exceed() {
        for p in [0.0, 1e-300, 1e-9, 0.04, 0.5, 0.99] {
            let z = quantile(p);
            assert!(cumulative(z) <= p && cumulative(z + 1e-12 * (1.0 + z.abs())) > p, "{p}");
        }
    }

    #[test]
    fn table_keeps_its_error_bound() {
        let table = Table::shared();
        for step in 0..400_000 {
            let z = -12.0 + f64::from(step) * 6.013e-5;
            let (value, error) = table.lookup(z);
            assert!((cumulative(z) - value).abs() <= error, "z = {z}: {value} ± {error}");
        }
    }
}
