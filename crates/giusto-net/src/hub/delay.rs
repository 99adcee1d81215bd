//! How long messages were in the broker, per topic: log-scaled buckets that cost a message one line of memory.

use giusto_core::id::{Nanos, TopicId};

/// Buckets for each doubling of the delay: a percentile is at most an eighth too high.
const PER_OCTAVE: usize = 8;
/// Delays from 2⁴² ns, more than an hour, are counted as that.
const OCTAVES: usize = 42;
const BUCKETS: usize = (OCTAVES - 2) * PER_OCTAVE;

/// The delays of one topic; the longest is exact.
#[derive(Debug)]
pub(super) struct Delay {
    pub(super) max_ns: u64,
    counts: [u32; BUCKETS],
}

impl Delay {
    #[inline]
    fn note(&mut self, delay_ns: Nanos) {
        let delay_ns = u64::try_from(delay_ns).unwrap_or(0);
        self.max_ns = self.max_ns.max(delay_ns);
        let count = &mut self.counts[bucket(delay_ns)];
        *count = count.saturating_add(1);
    }

    /// A delay that the part `quantile` of all was not above; 0 if there were none.
    pub(super) fn quantile_ns(&self, quantile: f64) -> u64 {
        let total: u64 = self.counts.iter().copied().map(u64::from).sum();
        let rank = (total as f64 * quantile).ceil() as u64;
        let mut seen = 0;
        let reached = self.counts.iter().position(|&count| {
            seen += u64::from(count);
            count > 0 && seen >= rank
        });
        reached.map_or(0, |bucket| upper_edge_ns(bucket).min(self.max_ns))
    }
}

#[inline]
fn bucket(delay_ns: u64) -> usize {
    if delay_ns < PER_OCTAVE as u64 {
        return delay_ns as usize;
    }
    let octave = delay_ns.ilog2() as usize;
    let part = (delay_ns >> (octave - 3)) as usize % PER_OCTAVE;
    ((octave - 2) * PER_OCTAVE + part).min(BUCKETS - 1)
}

/// The largest delay of a bucket.
fn upper_edge_ns(bucket: usize) -> u64 {
    if bucket < PER_OCTAVE {
        return bucket as u64;
    }
    let (octave, part) = (bucket / PER_OCTAVE + 2, bucket % PER_OCTAVE);
    (((PER_OCTAVE + part + 1) as u64) << (octave - 3)) - 1
}

/// The delays of all topics that have had a delivery.
#[derive(Debug, Default)]
pub(super) struct Delays {
    topics: Vec<Option<Box<Delay>>>,
}

impl Delays {
    /// None yet; so many topics come without the others being moved.
    pub(super) fn with_room(count: usize) -> Self {
        Self { topics: Vec::with_capacity(count) }
    }

    /// One delivery.
    #[inline]
    pub(super) fn record(&mut self, topic: TopicId, delay_ns: Nanos) {
        match self.topics.get_mut(topic.index()) {
            Some(Some(delay)) => delay.note(delay_ns),
            _ => self.begin(topic, delay_ns),
        }
    }

    #[cold]
    fn begin(&mut self, topic: TopicId, delay_ns: Nanos) {
        let mut delay = Box::new(Delay { max_ns: 0, counts: [0; BUCKETS] });
        delay.note(delay_ns);
        if topic.index() >= self.topics.len() {
            self.topics.resize_with(topic.index() + 1, || None);
        }
        self.topics[topic.index()] = Some(delay);
    }

    /// The number stands for another topic now.
    pub(super) fn forget(&mut self, topic: TopicId) {
        if let Some(place) = self.topics.get_mut(topic.index()) {
            *place = None;
        }
    }

    pub(super) fn of(&self, topic: TopicId) -> Option<&Delay> {
        self.topics.get(topic.index())?.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_delay_lies_in_a_bucket_an_eighth_wide(delay_ns in 0u64..1 << 42) {
            let edge_ns = upper_edge_ns(bucket(delay_ns));
            prop_assert!(delay_ns <= edge_ns && edge_ns - delay_ns <= delay_ns / 8);
            prop_assert!(bucket(edge_ns + 1) == bucket(edge_ns) + 1 || bucket(edge_ns) == BUCKETS - 1);
        }

        #[test]
        fn a_quantile_is_that_of_the_delays_up_to_an_eighth(
            mut delays in prop::collection::vec(0i64..1 << 50, 1..200),
            quantile in 0.0f64..=1.0,
        ) {
            let mut all = Delays::default();
            delays.iter().for_each(|&delay_ns| all.record(TopicId(3), delay_ns));
            delays.sort_unstable();
            let rank = ((delays.len() as f64 * quantile).ceil() as usize).max(1);
            let exact = delays[rank - 1] as u64;
            let found = all.of(TopicId(3)).unwrap().quantile_ns(quantile);
            prop_assert!(found >= exact.min((1 << 42) - 1) && found <= exact + exact / 8);
            prop_assert_eq!(all.of(TopicId(3)).unwrap().max_ns, *delays.last().unwrap() as u64);
        }
    }
}
