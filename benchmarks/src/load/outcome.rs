//! What a run reports: one line of JSON.

use std::fmt::Write;

use hdrhistogram::Histogram;

/// A histogram of nanoseconds, exact to three digits.
pub(super) fn histogram() -> Histogram<u64> {
    // The bounds are constant and right: one nanosecond to a minute.
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("bounds of a histogram")
}

/// Named figures, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    fields: String,
}

impl Outcome {
    /// Adds a word.
    pub fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw(name, &format!("{value:?}"))
    }

    /// Adds a figure.
    pub fn number(&mut self, name: &str, value: f64) -> &mut Self {
        self.raw(name, &format!("{value:.3}"))
    }

    /// Adds a whole number.
    pub fn count(&mut self, name: &str, value: u64) -> &mut Self {
        self.raw(name, &value.to_string())
    }

    /// Adds the percentiles of a delay in microseconds, each name with a prefix.
    pub fn delays(&mut self, prefix: &str, delays_ns: &Histogram<u64>) -> &mut Self {
        let quantiles = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
        for (name, quantile) in quantiles {
            let value = delays_ns.value_at_quantile(quantile) as f64 / 1e3;
            self.number(&format!("{prefix}{name}_us"), value);
        }
        self.number(&format!("{prefix}max_us"), delays_ns.max() as f64 / 1e3)
    }

    /// The line.
    pub fn line(&self) -> String {
        format!("{{{}}}", self.fields)
    }

    fn raw(&mut self, name: &str, value: &str) -> &mut Self {
        let comma = if self.fields.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(self.fields, "{comma}\"{name}\": {value}");
        self
    }
}
