//! A subscription as the client keeps it: what waits for it, how its topics arrive, what to be told of.

use std::collections::BTreeMap;
use std::sync::Arc;

use giusto_core::frame::DataHeader;
use giusto_core::id::Nanos;

use super::inbox::{Evicted, Inbox, Limits};
use super::report::{Report, Watch};

/// Why a note was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Occasion {
    /// Messages came later than the need allows.
    Late,
    /// Messages came later than was granted.
    Bound,
    /// Messages of a topic came further apart than the need allows.
    Apart,
    /// Messages are missing in the sequence.
    Gap,
    /// Messages were dropped because the inbox was full.
    Full,
}

/// Something that happened to messages of a topic since the last time that notes were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The key of the inbox.
    pub inbox: u32,
    /// The topic.
    pub topic: Arc<str>,
    /// What happened.
    pub occasion: Occasion,
    /// To how many messages.
    pub count: u64,
    /// The longest delay or separation among them; 0 where there is none.
    pub worst_ns: Nanos,
}

/// What happened to messages of one topic of one inbox.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) worst_ns: Nanos,
}

/// Tallies by inbox, slot of the topic and occasion: bounded by what there is to tell of.
pub(crate) type Tallies = BTreeMap<(u32, u32, Occasion), Tally>;

/// One subscription.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    pub(crate) inbox: Inbox,
    pub(crate) watch: Watch,
    /// Whether a dispatcher wants to hear when something waits.
    pub(crate) announces: bool,
    /// By slot of the topic.
    reports: Vec<Option<Box<Report>>>,
}

impl Mailbox {
    pub(crate) fn new(limits: Limits, watch: Watch) -> Self {
        Self { inbox: Inbox::new(limits), watch, ..Self::default() }
    }

    /// Counts a message with slots in its header.
    #[inline]
    pub(crate) fn count(
        &mut self,
        key: u32,
        now: Nanos,
        header: &DataHeader,
        size: usize,
        tallies: &mut Tallies,
    ) {
        let topic = header.stream;
        let Some(report) = self.report(topic) else { return };
        let watch = self.watch;
        let Some(report) = self.reports.get_mut(report).and_then(Option::as_mut) else { return };
        let breaches = report.count(now, header, size, &watch);
        if breaches.any() {
            let mut tell = |occasion, count, worst_ns| note(tallies, (key, topic, occasion), count, worst_ns);
            breaches.late_ns.into_iter().for_each(|delay| tell(Occasion::Late, 1, delay));
            breaches.bound_ns.into_iter().for_each(|delay| tell(Occasion::Bound, 1, delay));
            breaches.sep_ns.into_iter().for_each(|apart| tell(Occasion::Apart, 1, apart));
            if breaches.lost > 0 {
                tell(Occasion::Gap, breaches.lost, 0);
            }
        }
    }

    /// Puts a message that was counted into the inbox; one that does not wait there is counted as dropped.
    #[inline]
    pub(crate) fn push(
        &mut self,
        now: Nanos,
        slots: (u32, u32),
        frame: &[u8],
        mut evicted: impl FnMut(Evicted),
    ) -> bool {
        let Self { inbox, reports, .. } = self;
        let mut drop_one = |topic: u32| {
            let report = reports.get_mut(topic as usize).and_then(Option::as_deref_mut);
            report.into_iter().for_each(Report::count_dropped);
        };
        let kept = inbox.push(now, slots, frame, |gone| {
            drop_one(gone.0);
            evicted(gone);
        });
        if !kept {
            drop_one(slots.0);
        }
        kept
    }

    /// The reports by slot of the topic.
    pub(crate) fn reports(&mut self) -> impl Iterator<Item = (u32, &mut Report)> {
        let numbered = self.reports.iter_mut().enumerate();
        numbered.filter_map(|(topic, report)| Some((topic as u32, report.as_deref_mut()?)))
    }

    /// The slot stands for another topic from now on.
    pub(crate) fn forget_topic(&mut self, topic: u32) {
        if let Some(report) = self.reports.get_mut(topic as usize) {
            *report = None;
        }
    }

    /// The slot stands for another source from now on.
    pub(crate) fn forget_source(&mut self, source: u32) {
        self.reports().for_each(|(_, report)| report.forget_source(source));
    }

    /// Where the report of a topic is, which is new for its first message.
    #[inline]
    fn report(&mut self, topic: u32) -> Option<usize> {
        let at = topic as usize;
        if self.reports.get(at).is_none_or(Option::is_none) {
            if self.reports.len() <= at {
                self.reports.resize(at + 1, None);
            }
            self.reports[at] = Some(Box::new(Report::new()?));
        }
        Some(at)
    }
}

/// Adds to a tally.
pub(crate) fn note(tallies: &mut Tallies, key: (u32, u32, Occasion), count: u64, worst_ns: Nanos) {
    let tally = tallies.entry(key).or_default();
    tally.count = tally.count.saturating_add(count);
    tally.worst_ns = tally.worst_ns.max(worst_ns);
}
