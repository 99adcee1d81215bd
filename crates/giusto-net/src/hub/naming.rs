//! Whether the control plane has to wait until names are out: a guarded message must not wait for more of them than one
//! turn writes.
//!
//! Names of topics and sources go before the messages that need them. While topics are guarded, calls are made only as
//! long as few bytes of names wait, so that who publishes or subscribes is answered when the names are on their way.
//! Nobody waits for names of a client that does not read: they, and its messages, go with the rest.

use super::Hub;
use super::conn::{Conn, ConnId};

/// Bytes of names that a turn writes before guarded messages, to all clients together.
pub(crate) const NAMES_BYTES: usize = 4 << 10;
/// One more frame with a name has to fit.
const FRAME_BYTES: usize = 1 << 10;

impl Hub {
    /// Whether calls of the control plane have to wait.
    #[inline]
    pub fn owes_names(&self) -> bool {
        self.naming_bytes > NAMES_BYTES - FRAME_BYTES
    }

    /// Names were put into the outbox of a connection.
    pub(super) fn count_names(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(id) else { return };
        let bytes = conn.outbox.names_bytes();
        self.naming_bytes += bytes - std::mem::replace(&mut conn.naming_bytes, bytes);
    }

    /// The connection takes nothing at the moment, or is gone.
    #[inline]
    pub fn forgive_names(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(id) {
            self.naming_bytes -= std::mem::take(&mut conn.naming_bytes);
        }
    }
}

/// Names of a connection may have gone out, of the bytes that all together wait.
#[inline]
pub(super) fn note_told(naming_bytes: &mut usize, conn: &mut Conn) {
    let told = conn.naming_bytes.saturating_sub(conn.outbox.names_bytes());
    conn.naming_bytes -= told;
    *naming_bytes -= told;
}
