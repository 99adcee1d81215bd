//! Which row of a dictionary a number points to now, and which rows its reader has not been told of.
//!
//! Numbers are given back and given out again. What a number stands for gets a row of its own; a row that no number points to
//! any more is used again only after the rows that name it have been handed over, so that within one portion a row stands
//! for one thing.

use crate::error::Invalid;
use crate::record::ID_MAX;

/// Row of what has none.
pub(super) const NO_ROW: u32 = u32::MAX;
/// Most rows at a time: keys stay within what Arrow readers expect.
const ROWS_MAX: u32 = 1 << 25;

/// What the numbers of one kind stand for.
#[derive(Clone, Debug)]
pub struct Roster<T> {
    row_by_id: Vec<u32>,
    /// No row of this number or a higher one is in use.
    rows: u32,
    free: Vec<u32>,
    /// Out of use, but there may be records that name them.
    retired: Vec<u32>,
    news: Vec<(u32, T)>,
}

impl<T> Default for Roster<T> {
    fn default() -> Self {
        Self { row_by_id: Vec::new(), rows: 0, free: Vec::new(), retired: Vec::new(), news: Vec::new() }
    }
}

impl<T> Roster<T> {
    /// From now on `id` stands for `value`; records made before keep what it stood for.
    pub fn set(&mut self, id: u32, value: T) -> Result<(), Invalid> {
        if id > ID_MAX {
            return Err(Invalid::new("id", id, format!("at most {ID_MAX}")));
        }
        let index = id as usize;
        if self.row_by_id.len() <= index {
            self.row_by_id.resize(index + 1, NO_ROW);
        }
        let row = self.next_row()?;
        self.news.push((row, value));
        let old = std::mem::replace(&mut self.row_by_id[index], row);
        self.retired.extend((old != NO_ROW).then_some(old));
        Ok(())
    }

    fn next_row(&mut self) -> Result<u32, Invalid> {
        if let Some(row) = self.free.pop() {
            return Ok(row);
        }
        if self.rows >= ROWS_MAX {
            return Err(Invalid::new("name", self.rows, "a drain first: too many names since the last one"));
        }
        self.rows += 1;
        Ok(self.rows - 1)
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
        std::mem::take(&mut self.news)
    }
}
