//! What is on its way: messages, and the copies of them, each for a range of a message's groups.

use giusto_core::id::Nanos;

/// One publication, kept until its last copy is gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) publisher: u32,
    /// Its set in the directory.
    pub(super) matched: u32,
    pub(super) size_bytes: u32,
    pub(super) priority: u8,
    pub(super) sequence: u64,
    pub(super) intended_ns: Nanos,
    pub(super) published_ns: Nanos,
    /// Copies that are under way.
    pub(super) open: u32,
}

/// One message on its way to some of its subscriptions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) message: u32,
    /// The groups that it is for.
    pub(super) from: u32,
    pub(super) to: u32,
    /// The node that it goes to, or is at.
    pub(super) node: u32,
    /// When it arrived at the broker where it is, or will arrive at the next.
    pub(super) arrived_ns: Nanos,
    /// When the broker began to work on it.
    pub(super) selected_ns: Nanos,
}

/// Values with numbers; freed numbers are used again.
#[derive(Debug)]
pub(super) struct Pool<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T: std::marker::Copy> Pool<T> {
    pub(super) fn new() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn put(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = value;
            return number;
        }
        self.values.push(value);
        self.values.len() as u32 - 1
    }

    #[inline]
    pub(super) fn at(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, number: u32) -> &mut T {
        &mut self.values[number as usize]
    }

    #[inline]
    pub(super) fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.values[number as usize]
    }

    /// Everything that was put in and not taken.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let mut is_free = vec![false; self.values.len()];
        self.free.iter().for_each(|&number| is_free[number as usize] = true);
        self.values.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(value, _)| value)
    }
}
