//! Which row of a dictionary a number points to now, and which rows its reader has not been told of.
//!
//! Numbers are given back and given out again. What a number stands for gets a row of its own; a row that no number points to
//! any more is used again only after the records that name it have been handed over, so that within one portion a row stands
//! for one thing. A row that no record names is used again at once: names that come and go while nobody drains take no room.

use crate::error::Invalid;
use crate::record::ID_MAX;

/// Row of what has none.
pub(super) const NO_ROW: u32 = u32::MAX;
/// Most rows at a time: keys stay within what Arrow readers expect.
const ROWS_MAX: u32 = 1 << 25;

/// Where a row is in what the reader is to be told, and how many records there were when it came into use.
#[derive(Clone, Copy, Debug)]
struct State {
    news: u32,
    since: u64,
}

/// What the numbers of one kind stand for. `records` is how many records there have been so far.
#[derive(Clone, Debug)]
pub(super) struct Roster<T> {
    row_by_id: Vec<u32>,
    /// By row; no row of a higher number is in use.
    states: Vec<State>,
    free: Vec<u32>,
    /// Out of use, but there may be records that name them.
    retired: Vec<u32>,
    news: Vec<(u32, T)>,
}

impl<T> Default for Roster<T> {
    fn default() -> Self {
        Self {
            row_by_id: Vec::new(),
            states: Vec::new(),
            free: Vec::new(),
            retired: Vec::new(),
            news: Vec::new(),
        }
    }
}

impl<T> Roster<T> {
    /// From now on `id` stands for `value`; records made before keep what it stood for.
    pub(super) fn set(&mut self, id: u32, value: T, records: u64) -> Result<(), Invalid> {
        if id > ID_MAX {
            return Err(Invalid::new("id", id, format!("at most {ID_MAX}")));
        }
        let old = self.row(id);
        let row = if self.is_unnamed(old, records) { old } else { self.next_row()? };
        let index = id as usize;
        if self.row_by_id.len() <= index {
            self.row_by_id.resize(index + 1, NO_ROW);
        }
        self.row_by_id[index] = row;
        self.retired.extend((old != NO_ROW && old != row).then_some(old));
        self.tell(row, value, records);
        Ok(())
    }

    /// From now on `id` stands for nothing.
    pub(super) fn forget(&mut self, id: u32, records: u64) {
        let Some(row) = self.row_by_id.get_mut(id as usize) else { return };
        let old = std::mem::replace(row, NO_ROW);
        if self.is_unnamed(old, records) {
            self.free.push(old);
        } else if old != NO_ROW {
            self.retired.push(old);
        }
    }

    /// Whether no record names a row that is in use.
    fn is_unnamed(&self, row: u32, records: u64) -> bool {
        self.states.get(row as usize).is_some_and(|state| state.since == records)
    }

    fn tell(&mut self, row: u32, value: T, records: u64) {
        let state = &mut self.states[row as usize];
        state.since = records;
        match self.news.get_mut(state.news as usize) {
            Some(news) => news.1 = value,
            None => {
                state.news = self.news.len() as u32;
                self.news.push((row, value));
            }
        }
    }

    fn next_row(&mut self) -> Result<u32, Invalid> {
        if let Some(row) = self.free.pop() {
            return Ok(row);
        }
        let rows = self.states.len() as u32;
        if rows >= ROWS_MAX {
            return Err(Invalid::new("name", rows, "a drain first: too many names since the last one"));
        }
        self.states.push(State { news: NO_ROW, since: 0 });
        Ok(rows)
    }

    /// The row of `id`.
    #[inline]
    pub(super) fn row(&self, id: u32) -> u32 {
        self.row_by_id.get(id as usize).copied().unwrap_or(NO_ROW)
    }

    /// What has come since the last call. The rows that went out of use by then can be used again.
    pub(super) fn take_news(&mut self) -> Vec<(u32, T)> {
        if self.free.is_empty() {
            std::mem::swap(&mut self.free, &mut self.retired);
        } else {
            self.free.append(&mut self.retired);
        }
        for (row, _) in &self.news {
            self.states[*row as usize].news = NO_ROW;
        }
        std::mem::take(&mut self.news)
    }
}
