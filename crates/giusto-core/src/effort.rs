//! How much work may be done at once, so that no single action grows with what there is to do.

/// Work that is left to do at once: a unit is about what it costs to look at one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort(usize);

impl Effort {
    /// As much as there is to do.
    pub const ALL: Self = Self(usize::MAX);

    /// So many units.
    pub fn units(units: usize) -> Self {
        Self(units)
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_spent(self) -> bool {
        self.0 == 0
    }

    /// Work has been done; the last piece may be larger than what was left.
    #[inline]
    pub fn spend(&mut self, units: usize) {
        self.0 = self.0.saturating_sub(units);
    }
}
