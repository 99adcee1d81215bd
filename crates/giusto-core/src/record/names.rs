//! Which name a number had when its record was made: the dictionary of one column.
//!
//! Numbers are given back and given out again, so a name belongs to a number only from one `set` to the
//! next. A new name gets a new row of the dictionary, and several numbers with one name share its row; the
//! rows that no number points to any more stay until the records that use them are drained.

use std::collections::HashMap;
use std::sync::Arc;

use super::column::Optional;
use crate::error::Invalid;

/// Highest number that can have a name; it bounds the table.
pub const ID_MAX: u32 = (1 << 24) - 1;
/// Most rows between two drains, renamed numbers included; keys stay within what Arrow readers expect.
const ROWS_MAX: usize = 1 << 25;
const NO_ROW: u32 = u32::MAX;

/// Names by number, and the column of rows that the records point to.
#[derive(Clone, Debug, Default)]
pub struct Names {
    row_by_id: Vec<u32>,
    rows: Vec<Arc<str>>,
    row_by_name: HashMap<Arc<str>, u32>,
    /// Whether some row may be out of use.
    stale: bool,
    keys: Optional<u32>,
}

impl Names {
    /// From now on `id` is called `name`; records made before keep the old name.
    pub fn set(&mut self, id: u32, name: &str) -> Result<(), Invalid> {
        if id > ID_MAX {
            return Err(Invalid::new("id", id, format!("at most {ID_MAX}")));
        }
        let row = self.intern(name)?;
        let index = id as usize;
        if self.row_by_id.len() <= index {
            self.row_by_id.resize(index + 1, NO_ROW);
        }
        self.point(id, row);
        Ok(())
    }

    /// `id` has no name from now on: records made with it have none.
    pub fn clear(&mut self, id: u32) {
        self.point(id, NO_ROW);
    }

    fn point(&mut self, id: u32, row: u32) {
        if let Some(old) = self.row_by_id.get_mut(id as usize) {
            self.stale |= *old != NO_ROW && *old != row;
            *old = row;
        }
    }

    /// The row of `name`, a new one if it has none.
    fn intern(&mut self, name: &str) -> Result<u32, Invalid> {
        if let Some(row) = self.row_by_name.get(name) {
            return Ok(*row);
        }
        if self.rows.len() >= ROWS_MAX {
            return Err(Invalid::new("name", name, "a drain first: too many names since the last one"));
        }
        let (row, name) = (self.rows.len() as u32, Arc::<str>::from(name));
        self.rows.push(Arc::clone(&name));
        self.row_by_name.insert(name, row);
        Ok(row)
    }

    /// What `id` is called now.
    pub fn name(&self, id: u32) -> Option<&str> {
        self.rows.get(self.row(id)? as usize).map(AsRef::as_ref)
    }

    #[inline]
    fn row(&self, id: u32) -> Option<u32> {
        self.row_by_id.get(id as usize).copied().filter(|row| *row != NO_ROW)
    }

    #[inline]
    pub(super) fn push(&mut self, id: impl Into<Option<u32>>) {
        let row = id.into().and_then(|id| self.row(id));
        self.keys.push(row);
    }

    pub(super) fn try_reserve(&mut self, rows: usize) -> bool {
        self.keys.try_reserve(rows)
    }

    /// Hands over the keys and the dictionary they point into, and forgets the rows that are out of use.
    pub(super) fn take(&mut self) -> (Optional<u32>, Vec<Arc<str>>) {
        let names = self.rows.clone();
        if self.stale {
            self.compact();
        }
        (self.keys.take(), names)
    }

    fn compact(&mut self) {
        let old = std::mem::take(&mut self.rows);
        self.row_by_name.clear();
        self.stale = false;
        for row in &mut self.row_by_id {
            let Some(name) = old.get(*row as usize) else { continue };
            *row = *self.row_by_name.entry(Arc::clone(name)).or_insert_with(|| {
                self.rows.push(Arc::clone(name));
                self.rows.len() as u32 - 1
            });
        }
    }
}
