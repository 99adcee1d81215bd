//! What the broker's work costs on this machine: its own code, timed piece by piece over real sockets.
//!
//! ```text
//! Path     a message comes in, is served and goes out:  take, step, write, serve
//! Filters  of a message that all of them want:          filter
//! Reads    many of the smallest frames in one read:     frame, or excess if their offer does not allow them
//! Turn     a turn that finds nothing:                   turn
//! Calls    of the control plane:                        status, clients, subscribe, advertise, drain
//! Hop      from one program to another one that sleeps: hop
//! Stalls   the machine's own:                           sleep, spin
//! ```
//!
//! A record is kept of each message, as in a broker that traces.
//!
//! Every sample is one operation between two readings of the clock. All are kept, also those during which the system
//! ran something else, and for how long it did: what to make of them is decided elsewhere.

mod calls;
mod filters;
mod hop;
mod path;
mod peers;
mod reads;
mod series;
mod stalls;
mod turns;

use std::io;

use giusto_core::id::Nanos;

use series::Effort;
pub use series::Series;

/// Operations before the first that counts: memory has been taken by then.
const WARM_UP: usize = 16;

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A message of so many bytes from a publisher to so many subscribers.
    Path {
        /// Of the payload.
        size_bytes: usize,
        /// Subscribers.
        fanout: usize,
    },
    /// The step of a message that a client wants by so many filters, all of which have to be looked at.
    Filters {
        /// Each of one comparison.
        comparisons: usize,
    },
    /// So many of the smallest frames in one read.
    Reads {
        /// How many.
        frames: usize,
        /// Whether their publisher has offered less.
        policed: bool,
    },
    /// A turn without work.
    Turn,
    /// Calls of the control plane.
    Calls {
        /// Topics that exist.
        topics: usize,
        /// Clients that are connected.
        clients: usize,
    },
    /// A message of so many bytes between two threads.
    Hop {
        /// On the wire.
        size_bytes: usize,
    },
    /// How long the machine keeps a thread from running.
    Stalls,
}

/// Measures in a thread of its own for `duration_ns`, or until there are `samples_max` samples of each kind.
pub fn measure(task: Task, duration_ns: Nanos, samples_max: usize) -> io::Result<Vec<Series>> {
    let effort = Effort { duration_ns, samples_max };
    let thread = std::thread::Builder::new().name("giusto-calibrate".into());
    let measuring = thread.spawn(move || match task {
        Task::Path { size_bytes, fanout } => path::measure(size_bytes, fanout, effort),
        Task::Filters { comparisons } => filters::measure(comparisons, effort),
        Task::Reads { frames, policed } => reads::measure(frames, policed, effort),
        Task::Turn => turns::measure(effort),
        Task::Calls { topics, clients } => calls::measure(topics, clients, effort),
        Task::Hop { size_bytes } => hop::measure(size_bytes, effort),
        Task::Stalls => Ok(stalls::measure(effort)),
    })?;
    measuring.join().unwrap_or_else(|_| Err(io::Error::other("the measuring thread has failed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(task: Task) -> Vec<(&'static str, usize)> {
        let series = measure(task, 60_000_000_000, 8).unwrap();
        assert!(series.iter().flat_map(|series| &series.samples_ns).all(|&ns| ns < 60_000_000_000));
        series.iter().map(|series| (series.kind, series.samples_ns.len())).collect()
    }

    #[test]
    fn a_message_is_taken_served_and_written_to_each_subscriber() {
        for (size_bytes, fanout) in [(0, 1), (64, 2), (1 << 20, 1)] {
            let found = kinds(Task::Path { size_bytes, fanout });
            assert_eq!(found, [("take", 8), ("step", 8), ("write", 8), ("serve", 8)]);
        }
    }

    #[test]
    fn a_record_is_kept_of_every_delivery_that_is_timed() {
        let mut scene = path::Scene::new(3, None).unwrap();
        let bytes = scene.frame(64).unwrap().into();
        let mut kept = Vec::new();
        for _ in 0..20_000 {
            scene.read(&bytes, |bench| bench.hub().has_work()).unwrap();
            while scene.bench.step() {}
            scene.write(|_| ()).unwrap();
            kept.push(scene.bench.hub().records());
        }
        scene.close();
        let rose = kept.windows(2).filter(|pair| pair[1] == pair[0] + 3).count();
        let drained = kept.windows(2).filter(|pair| pair[0] > 3 && pair[1] == 3).count();
        assert!(drained > 0, "there is always room");
        assert_eq!(rose + drained, kept.len() - 1);
    }

    #[test]
    fn without_subscribers_nothing_is_written() {
        assert_eq!(
            kinds(Task::Path { size_bytes: 64, fanout: 0 }),
            [("take", 8), ("step", 8), ("write", 0), ("serve", 8)]
        );
    }

    #[test]
    fn filters_are_timed_by_the_step_that_looks_at_them() {
        assert_eq!(kinds(Task::Filters { comparisons: 100 }), [("filter", 8)]);
    }

    #[test]
    fn reads_are_timed_whether_their_frames_are_allowed_or_not() {
        assert_eq!(kinds(Task::Reads { frames: 287, policed: false }), [("frame", 8)]);
        assert_eq!(kinds(Task::Reads { frames: 16, policed: true }), [("excess", 8)]);
    }

    #[test]
    fn turns_hops_and_stalls_are_timed() {
        assert_eq!(kinds(Task::Turn), [("turn", 8)]);
        assert_eq!(kinds(Task::Hop { size_bytes: 64 }), [("hop", 8)]);
        assert_eq!(kinds(Task::Stalls), [("sleep", 8), ("spin", 8)]);
    }

    #[test]
    fn every_call_is_timed() {
        let found = kinds(Task::Calls { topics: 100, clients: 10 });
        assert_eq!(found, [("status", 8), ("clients", 8), ("subscribe", 8), ("advertise", 8), ("drain", 8)]);
    }

    #[test]
    fn the_time_is_a_limit_too() {
        let series = measure(Task::Turn, 1, 1_000_000).unwrap();
        assert!(series[0].samples_ns.len() <= 1);
    }
}
