//! The one clock of a machine.

use giusto_core::id::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`: what every instant of a live run is counted in.
#[inline]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_does_not_go_back() {
        let times: Vec<_> = (0..1_000).map(|_| super::now()).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
