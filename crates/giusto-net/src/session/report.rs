//! How a topic has been arriving at a subscription: counts, delays, rate, losses, and what came late.
//!
//! Losses are gaps in the sequence of one source on one topic: what lies between the first and the
//! highest number and was not received. A message that was overtaken fills its gap when it comes.

use giusto_core::frame::{DataHeader, PROMISED};
use giusto_core::id::Nanos;
use hdrhistogram::Histogram;

/// Two digits: percentiles within 1 %.
const DIGITS: u8 = 2;
/// A step back by more than this is a publisher that began anew.
const REORDER_MAX: u64 = 65_536;

/// What a subscription wants to be told of; 0 or less: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Longest delay from sent to received that the need allows.
    pub late_ns: Nanos,
    /// Longest delay that was granted, for messages that were under contract from the beginning.
    pub bound_ns: Nanos,
    /// Longest time between two messages of a topic.
    pub sep_ns: Nanos,
    /// Whether gaps in the sequence are losses: not if a filter makes them.
    pub gaps: bool,
}

/// Figures of one topic over some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Messages received.
    pub messages: u64,
    /// Bytes of their payloads and attributes.
    pub bytes: u64,
    /// Messages that never came, from gaps in the sequence.
    pub lost: u64,
    /// Messages that came to a full inbox, or left it for another one.
    pub dropped: u64,
    /// Messages later than the need allows.
    pub late: u64,
    /// From the first message to the last, on the receiver's clock.
    pub span_ns: Nanos,
    /// The longest delay.
    pub max_ns: u64,
    /// Delays from sent to received.
    pub delays: Histogram<u32>,
}

impl Figures {
    /// What came on top of `earlier` figures of the same topic.
    fn since(mut self, earlier: &Self) -> Self {
        self.messages -= earlier.messages;
        self.bytes -= earlier.bytes;
        self.lost = self.lost.saturating_sub(earlier.lost);
        self.dropped -= earlier.dropped;
        self.late -= earlier.late;
        self.span_ns -= earlier.span_ns;
        let _ = self.delays.subtract(&earlier.delays);
        self.max_ns = self.max_ns.min(self.delays.max());
        self
    }
}

#[derive(Clone, Copy, Debug)]
struct Track {
    source: u32,
    first: u64,
    highest: u64,
    received: u64,
}

impl Track {
    /// Sequences are whatever a publisher writes: nothing here may overflow.
    fn missing(&self) -> u64 {
        (self.highest - self.first).saturating_add(1).saturating_sub(self.received)
    }
}

/// One topic of one subscription.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    messages: u64,
    bytes: u64,
    dropped: u64,
    late: u64,
    first_ns: Nanos,
    last_ns: Nanos,
    max_ns: u64,
    /// In the order of their sources.
    tracks: Vec<Track>,
    /// Where the track of the last message is: one source often has many in a row.
    last: usize,
    /// Losses of sources that began anew or are gone.
    settled: u64,
    delays: Histogram<u32>,
    /// The figures when they were last asked for piece by piece.
    told: Option<Box<Figures>>,
}

/// What is wrong with one arrival: by how much which limit was exceeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Breaches {
    pub(crate) late_ns: Option<Nanos>,
    pub(crate) bound_ns: Option<Nanos>,
    pub(crate) sep_ns: Option<Nanos>,
    pub(crate) lost: u64,
}

impl Breaches {
    #[inline]
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }
}

impl Report {
    pub(crate) fn new() -> Option<Self> {
        Some(Self {
            messages: 0,
            bytes: 0,
            dropped: 0,
            late: 0,
            delays: Histogram::new(DIGITS).ok()?,
            first_ns: 0,
            last_ns: 0,
            max_ns: 0,
            tracks: Vec::new(),
            last: 0,
            settled: 0,
            told: None,
        })
    }

    /// Counts a message with slots in its header, and says which limit of `watch` it broke.
    #[inline]
    pub(crate) fn count(&mut self, now: Nanos, header: &DataHeader, size: usize, watch: &Watch) -> Breaches {
        let mut breaches = Breaches::default();
        let delay = now.saturating_sub(header.t_sent_ns);
        if watch.late_ns > 0 && delay > watch.late_ns {
            self.late += 1;
            breaches.late_ns = Some(delay);
        }
        if watch.bound_ns > 0 && delay > watch.bound_ns && header.flags & PROMISED != 0 {
            breaches.bound_ns = Some(delay);
        }
        if self.messages == 0 {
            self.first_ns = now;
        } else if watch.sep_ns > 0 && now - self.last_ns > watch.sep_ns {
            breaches.sep_ns = Some(now - self.last_ns);
        }
        self.last_ns = now;
        self.messages += 1;
        self.bytes += size as u64;
        let delay = delay.max(0) as u64;
        self.max_ns = self.max_ns.max(delay);
        let _ = self.delays.record(delay);
        if watch.gaps {
            breaches.lost = self.follow(header.source, header.sequence);
        }
        breaches
    }

    /// A message that was counted is not given out.
    pub(crate) fn count_dropped(&mut self) {
        self.dropped += 1;
    }

    /// Figures since the subscription began.
    pub(crate) fn figures(&self) -> Figures {
        let lost = self.tracks.iter().map(Track::missing).fold(self.settled, u64::saturating_add);
        Figures {
            messages: self.messages,
            bytes: self.bytes,
            lost,
            dropped: self.dropped,
            late: self.late,
            span_ns: self.last_ns - self.first_ns,
            max_ns: self.max_ns,
            delays: self.delays.clone(),
        }
    }

    /// Figures since this was last asked.
    pub(crate) fn recent(&mut self) -> Figures {
        let all = self.figures();
        let told = self.told.replace(Box::new(all.clone()));
        told.map_or(all.clone(), |told| all.since(&told))
    }

    /// The slot stands for another source from now on.
    pub(crate) fn forget_source(&mut self, source: u32) {
        if let Ok(at) = self.find(source) {
            let track = self.tracks.remove(at);
            self.settled = self.settled.saturating_add(track.missing());
        }
    }

    /// Where the track of a source is, or has to be.
    fn find(&self, source: u32) -> Result<usize, usize> {
        self.tracks.binary_search_by_key(&source, |track| track.source)
    }

    /// Follows the sequence of a source; how many are missing right before this message.
    #[inline]
    fn follow(&mut self, source: u32, sequence: u64) -> u64 {
        if self.tracks.get(self.last).is_none_or(|track| track.source != source) {
            let found = self.find(source);
            self.last = found.unwrap_or_else(|at| at);
            if found.is_err() {
                let track = Track { source, first: sequence, highest: sequence, received: 1 };
                self.tracks.insert(self.last, track);
                return 0;
            }
        }
        let Some(track) = self.tracks.get_mut(self.last) else { return 0 };
        if sequence > track.highest {
            let gap = sequence - track.highest - 1;
            track.highest = sequence;
            track.received += 1;
            return gap;
        }
        if sequence == 0 || track.highest - sequence > REORDER_MAX {
            self.settled = self.settled.saturating_add(track.missing());
            *track = Track { source, first: sequence, highest: sequence, received: 1 };
        } else {
            // Overtaken, by a higher priority: it fills a gap, or came before what was seen first.
            track.first = track.first.min(sequence);
            track.received += 1;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(watch: Watch, arrivals: &[(Nanos, Nanos, u64)]) -> (Report, Vec<Breaches>) {
        let mut report = Report::new().unwrap();
        let breaches = arrivals.iter().map(|&(now, t_sent_ns, sequence)| {
            let header = DataHeader { t_sent_ns, sequence, flags: PROMISED, ..DataHeader::default() };
            report.count(now, &header, 10, &watch)
        });
        let breaches = breaches.collect();
        (report, breaches)
    }

    #[test]
    fn delays_rate_and_sizes_are_counted() {
        let (report, _) = arrivals(Watch::default(), &[(100, 90, 0), (200, 180, 1), (300, 270, 2)]);
        let figures = report.figures();
        assert_eq!((figures.messages, figures.bytes, figures.span_ns, figures.lost), (3, 30, 200, 0));
        assert_eq!((figures.delays.min(), figures.delays.max()), (10, 30));
    }

    #[test]
    fn figures_can_be_had_piece_by_piece() {
        let (mut report, _) = arrivals(Watch::default(), &[(100, 90, 0), (200, 180, 1)]);
        report.count_dropped();
        assert_eq!(report.recent(), report.figures());
        report.count(300, &DataHeader { t_sent_ns: 270, ..DataHeader::default() }, 10, &Watch::default());
        let recent = report.recent();
        assert_eq!((recent.messages, recent.bytes, recent.span_ns, recent.dropped), (1, 10, 100, 0));
        assert_eq!(report.figures().dropped, 1);
        assert_eq!((recent.delays.min(), recent.delays.len()), (30, 1));
    }

    #[test]
    fn a_gap_is_a_loss_until_the_overtaken_message_comes() {
        let watch = Watch { gaps: true, ..Watch::default() };
        let (report, breaches) = arrivals(watch, &[(0, 0, 4), (0, 0, 7), (0, 0, 5)]);
        assert_eq!(report.figures().lost, 1);
        assert_eq!(breaches.iter().map(|breach| breach.lost).collect::<Vec<_>>(), [0, 2, 0]);
    }

    #[test]
    fn each_source_is_followed_for_itself() {
        let watch = Watch { gaps: true, ..Watch::default() };
        let mut report = Report::new().unwrap();
        let mut count = |source, sequence| {
            let header = DataHeader { source, sequence, ..DataHeader::default() };
            report.count(0, &header, 10, &watch).lost
        };
        let sources = [7, 3, u32::MAX, 5, 0];
        assert!(sources.iter().all(|&source| count(source, 10) == 0));
        assert!(sources.iter().all(|&source| count(source, 11) == 0 && count(source, 13) == 1));
        assert_eq!(report.figures().lost, 5);
        sources.iter().for_each(|&source| report.forget_source(source));
        assert_eq!((report.figures().lost, report.tracks.len()), (5, 0));
    }

    #[test]
    fn sequences_at_the_ends_of_their_range_are_survived() {
        let watch = Watch { gaps: true, ..Watch::default() };
        let last = u64::MAX;
        let (mut report, _) = arrivals(watch, &[(0, 0, 0), (0, 0, last), (0, 0, 0), (0, 0, last)]);
        assert_eq!(report.figures().lost, u64::MAX);
        report.forget_source(0);
        assert_eq!(report.recent().lost, u64::MAX);
    }

    #[test]
    fn a_publisher_that_begins_anew_has_lost_nothing_by_that() {
        let watch = Watch { gaps: true, ..Watch::default() };
        let (report, _) = arrivals(watch, &[(0, 0, 4), (0, 0, 7), (0, 0, 0), (0, 0, 1)]);
        assert_eq!(report.figures().lost, 2);
    }

    #[test]
    fn what_comes_late_or_too_far_apart_is_told() {
        let watch = Watch { late_ns: 5, bound_ns: 8, sep_ns: 50, gaps: false };
        let (report, breaches) = arrivals(watch, &[(10, 5, 0), (20, 14, 1), (71, 60, 2)]);
        assert!(!breaches[0].any());
        assert_eq!(breaches[1], Breaches { late_ns: Some(6), ..Breaches::default() });
        assert_eq!(
            breaches[2],
            Breaches { late_ns: Some(11), bound_ns: Some(11), sep_ns: Some(51), lost: 0 }
        );
        assert_eq!(report.figures().late, 2);
    }

    #[test]
    fn what_was_not_promised_breaks_no_bound() {
        let watch = Watch { bound_ns: 8, ..Watch::default() };
        let breaches = Report::new().unwrap().count(20, &DataHeader::default(), 10, &watch);
        assert!(!breaches.any());
    }
}
