//! A client's connection as Python sees it: waiting with the GIL released, and the classes it is made of.
//!
//! A thread that holds the lock of the session never waits for the GIL, so that one which has the GIL
//! may take the lock.

mod awaitable;
mod duration;
mod inbox;
mod message;
mod names;
mod publisher;

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use giusto_core::frame::{Frame, LIMIT_BYTES};
use giusto_core::id::Nanos;
use giusto_core::record::Unfolding;
use giusto_net::connection::{self as net, Address, Clock, Waited};
use giusto_net::session::{Occasion, Session};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::{Raise, exception};
use crate::record::{Batch, Drain, Portion};
use names::Cache;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Connection>()?;
    module.add_class::<message::Message>()?;
    module.add_class::<inbox::Inbox>()?;
    module.add_class::<inbox::BlockingInbox>()?;
    module.add_class::<publisher::Publisher>()?;
    module.add_class::<publisher::BlockingPublisher>()?;
    module.add_class::<publisher::AsyncPublisher>()
}

/// Signals are looked after this often.
const SLICE: Duration = Duration::from_millis(100);
/// A publisher looks after what came in at least this often.
const LOOK_NS: Nanos = 50_000_000;

/// What the classes of one connection share.
pub(crate) struct Shared {
    pub(crate) net: net::Connection,
    time: Option<Arc<AtomicI64>>,
    hooks: Mutex<Hooks>,
    /// Why nothing will ever come again.
    ended: Mutex<Option<String>>,
    is_ended: AtomicBool,
    /// Its user ended it: no failure to whoever iterates.
    is_closed: AtomicBool,
    looked_ns: AtomicI64,
    pub(crate) names: Mutex<Cache>,
    drain: Option<Drain>,
}

#[derive(Default)]
struct Hooks {
    attend: Option<Py<PyAny>>,
    idle: Option<Py<PyAny>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Raises `Closed` if the connection has ended for good.
    pub(crate) fn check_open(&self) -> PyResult<()> {
        if !self.is_ended.load(Ordering::Acquire) {
            return Ok(());
        }
        let reason = locked(&self.ended).clone().unwrap_or_default();
        Err(exception("Closed", (reason,)))
    }

    /// Whether the user has closed the connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(crate) fn deadline(&self, timeout_ns: Option<Nanos>) -> Option<Nanos> {
        timeout_ns.map(|timeout| self.net.now().saturating_add(timeout))
    }

    /// Waits until `check` finds something; none if the deadline passes. Lets Python attend to what
    /// comes up meanwhile.
    pub(crate) fn wait_for<T: Send>(
        &self,
        py: Python<'_>,
        deadline_ns: Option<Nanos>,
        mut check: impl FnMut(&mut Session) -> Option<T> + Send,
    ) -> PyResult<Option<T>> {
        loop {
            if let Some(found) = self.net.with(&mut check) {
                return Ok(Some(found));
            }
            self.check_open()?;
            match py.detach(|| self.net.wait(deadline_ns, None, &mut check)) {
                Waited::Ready(found) => return Ok(Some(found)),
                Waited::TimedOut => return Ok(None),
                Waited::Attention => self.attend(py)?,
                Waited::Interrupted => py.check_signals()?,
                Waited::Idle => {
                    if !self.idle(py, deadline_ns)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The same, but a call of `notify` since `seen` ends it too; false if the deadline passes.
    pub(crate) fn wait_or_notified(
        &self,
        py: Python<'_>,
        deadline_ns: Option<Nanos>,
        seen: u64,
        mut check: impl FnMut(&mut Session) -> Option<()> + Send,
    ) -> PyResult<bool> {
        loop {
            self.check_open()?;
            match py.detach(|| self.net.wait(deadline_ns, Some(seen), &mut check)) {
                Waited::Ready(()) => return Ok(true),
                Waited::TimedOut => return Ok(false),
                Waited::Interrupted => py.check_signals()?,
                Waited::Attention if self.net.notified() != seen => return Ok(true),
                Waited::Attention => self.attend(py)?,
                Waited::Idle => {
                    if !self.idle(py, deadline_ns)? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Reads what is there from time to time, for a publisher that never waits: before it sends, so that
    /// a connection that was lost meanwhile does not swallow the message.
    #[inline]
    pub(crate) fn look(&self, py: Python<'_>, now: Nanos, is_due: bool) -> PyResult<()> {
        let looked_ns = self.looked_ns.load(Ordering::Relaxed);
        if self.is_ended.load(Ordering::Acquire)
            || looked_ns == i64::MAX
            || (!is_due && now - looked_ns < LOOK_NS)
        {
            return Ok(());
        }
        self.looked_ns.store(now, Ordering::Relaxed);
        py.detach(|| self.net.pump());
        if self.net.with(|session| session.wants_attention()) {
            self.attend(py)?;
        }
        Ok(())
    }

    pub(crate) fn attend(&self, py: Python<'_>) -> PyResult<()> {
        let hook = locked(&self.hooks).attend.as_ref().map(|hook| hook.clone_ref(py));
        hook.map_or(Ok(()), |hook| hook.call0(py).map(drop))
    }

    /// Lets something happen in a connection in memory; false if nothing can before the deadline.
    fn idle(&self, py: Python<'_>, deadline_ns: Option<Nanos>) -> PyResult<bool> {
        let hook = locked(&self.hooks).idle.as_ref().map(|hook| hook.clone_ref(py));
        hook.map_or(Ok(false), |hook| hook.call1(py, (deadline_ns,))?.extract(py))
    }
}

impl Drop for Shared {
    /// Parting may take a while: without the GIL, unless the interpreter is at its end.
    fn drop(&mut self) {
        let _ = Python::try_attach(|py| py.detach(|| self.net.close(net::DROP_TIMEOUT)));
    }
}

/// A connection to a broker, and the next one after it is lost.
///
/// `attend` is called by any thread that waits when control bodies, notes or a loss are to be taken. With
/// `virtual` there is no socket and no clock: bytes go through `feed` and `drain`, time through `set_now`,
/// and who waits calls `idle(deadline_ns)`, which returns false if nothing more will happen.
#[pyclass(frozen, module = "giusto._core")]
pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (*, attend=None, idle=None, in_memory=false, in_loop=false, record_capacity=0,
                        record_sampling=1))]
    fn new(
        attend: Option<Py<PyAny>>,
        idle: Option<Py<PyAny>>,
        in_memory: bool,
        in_loop: bool,
        record_capacity: usize,
        record_sampling: u32,
    ) -> PyResult<Self> {
        let time = in_memory.then(|| Arc::new(AtomicI64::new(0)));
        let clock = time.clone().map_or(Clock::Monotonic, Clock::Virtual);
        let shared = Shared {
            net: net::Connection::new(clock, LIMIT_BYTES),
            time,
            hooks: Mutex::new(Hooks { attend, idle }),
            ended: Mutex::default(),
            is_ended: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            // In an event loop the loop reads, or nobody would be woken.
            looked_ns: AtomicI64::new(if in_loop || in_memory { i64::MAX } else { 0 }),
            names: Mutex::default(),
            drain: Drain::new(record_capacity, Unfolding::new("", "", 1)),
        };
        if record_capacity > 0 {
            let begun = shared.net.with(|session| session.record(record_capacity, record_sampling));
            begun.map_err(Raise::raise)?;
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Records are of this client and this run of its broker from now on.
    fn identify(&self, run: &str, name: &str) -> PyResult<()> {
        let Some(drain) = &self.shared.drain else { return Ok(()) };
        let portions = drain.portions();
        let changed = self
            .shared
            .net
            .with(|session| session.identify(run, name).map(|before| portions.put_down(before)));
        changed.map_err(Raise::raise)
    }

    /// The records since the last drain; None if none are kept.
    fn drain_records(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.drain_portion(py).map(|portion| portion.batch(py)).transpose()
    }

    /// The same records as they were kept, for a file.
    fn drain_portion(&self, py: Python<'_>) -> Option<Portion> {
        self.swapped(py).map(Drain::portion)
    }

    /// Connects and says hello.
    fn open(&self, py: Python<'_>, address: &str, timeout_ns: i64) -> PyResult<()> {
        let parsed = Address::parse(address).map_err(Raise::raise)?;
        let timeout = Duration::from_nanos(timeout_ns.max(1) as u64);
        py.detach(|| self.shared.net.open(&parsed, timeout))
            .map_err(|error| exception("Unreachable", (address, error.to_string())))
    }

    /// Begins without a socket.
    fn open_memory(&self) {
        self.shared.net.open_memory();
    }

    #[getter]
    fn udp_port(&self) -> PyResult<Option<u16>> {
        Ok(self.shared.net.udp_port()?)
    }

    /// Data goes in datagrams to this port of the broker's host.
    fn connect_udp(&self, port: u16) -> PyResult<()> {
        Ok(self.shared.net.connect_udp(port)?)
    }

    /// Sends a control body, at once.
    fn send(&self, py: Python<'_>, body: PyBackedBytes) -> PyResult<()> {
        py.detach(|| self.shared.net.send(&Frame::Control(&body))).map_err(Raise::raise)
    }

    /// Whether there is room to send more.
    #[getter]
    fn has_room(&self) -> bool {
        self.shared.net.has_room()
    }

    /// Waits for room to send more, for a moment; false if there is none yet.
    fn wait_for_room(&self, py: Python<'_>) -> bool {
        py.detach(|| self.shared.net.wait_for_room())
    }

    /// Waits until everything has left; false if that takes longer.
    fn flush(&self, py: Python<'_>, timeout_ns: i64) -> PyResult<bool> {
        let mut left = Duration::from_nanos(timeout_ns.max(0) as u64);
        loop {
            let slice = left.min(SLICE);
            if py.detach(|| self.shared.net.flush(slice)) {
                return Ok(true);
            }
            py.check_signals()?;
            left -= slice;
            if left.is_zero() {
                return Ok(false);
            }
        }
    }

    /// Waits until there is something to attend to, or `notify` was called since `seen`; false if not in time.
    #[pyo3(signature = (seen, timeout_ns=None))]
    fn wait(&self, py: Python<'_>, seen: u64, timeout_ns: Option<i64>) -> PyResult<bool> {
        let shared = &self.shared;
        let deadline_ns = shared.deadline(timeout_ns);
        loop {
            shared.check_open()?;
            match py.detach(|| shared.net.wait(deadline_ns, Some(seen), |_| None::<()>)) {
                Waited::Ready(()) | Waited::Attention => return Ok(true),
                Waited::TimedOut => return Ok(false),
                Waited::Interrupted => py.check_signals()?,
                Waited::Idle => return shared.idle(py, deadline_ns),
            }
        }
    }

    #[getter]
    fn notified(&self) -> u64 {
        self.shared.net.notified()
    }

    /// Wakes everybody who waits.
    fn notify(&self) {
        self.shared.net.notify();
    }

    /// Reads what is there without waiting; false if there was nothing.
    fn pump(&self, py: Python<'_>) -> bool {
        py.detach(|| self.shared.net.pump())
    }

    #[getter]
    fn wants_attention(&self) -> bool {
        self.shared.net.with(|session| session.wants_attention())
    }

    /// Control bodies in the order in which they came.
    fn take_control<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let bodies: Vec<Vec<u8>> = self.shared.net.with(|session| session.take_control().collect());
        bodies.iter().map(|body| PyBytes::new(py, body)).collect()
    }

    /// What happened to messages: `(inbox, topic, occasion, count, worst_ns)`.
    fn take_notes(&self) -> Vec<(u32, String, &'static str, u64, i64)> {
        let notes = self.shared.net.with(|session| session.take_notes()).into_iter();
        notes.map(|n| (n.inbox, n.topic.to_string(), word(n.occasion), n.count, n.worst_ns)).collect()
    }

    /// Why the connection was lost: `(reason, code, under_way)`, once.
    fn take_loss(&self) -> Option<(String, u32, u64)> {
        let loss = self.shared.net.with(|session| session.take_loss());
        loss.map(|loss| (loss.reason, loss.code, loss.under_way))
    }

    /// Raises `Closed` if the connection has ended for good.
    fn check_open(&self) -> PyResult<()> {
        self.shared.check_open()
    }

    #[getter]
    fn is_connected(&self) -> bool {
        self.shared.net.with(|session| session.is_connected())
    }

    /// Whether the other side of the last connection has said anything that only a broker says.
    #[getter]
    fn is_broker(&self) -> bool {
        self.shared.net.with(|session| session.is_broker())
    }

    /// Inboxes that asked to be announced and have something.
    fn take_announced(&self) -> Vec<u32> {
        self.shared.net.with(|session| session.take_announced())
    }

    /// Waits for announced inboxes; none if there are none in time.
    #[pyo3(signature = (timeout_ns=None))]
    fn wait_announced(&self, py: Python<'_>, timeout_ns: Option<i64>) -> PyResult<Vec<u32>> {
        let deadline_ns = self.shared.deadline(timeout_ns);
        let announced = |session: &mut Session| session.has_announced().then(|| session.take_announced());
        self.shared.wait_for(py, deadline_ns, announced).map(Option::unwrap_or_default)
    }

    /// Gives the connection up; returns how many messages had not left.
    fn give_up(&self, py: Python<'_>, reason: &str) -> usize {
        py.detach(|| self.shared.net.drop_socket(reason))
    }

    /// Nothing will come any more: who waits, now or later, gets `Closed(reason)`. What has come can still
    /// be taken. If that `is_wanted`, iterations end without an exception.
    #[pyo3(signature = (reason, timeout_ns, *, is_wanted=false))]
    fn end(&self, py: Python<'_>, reason: String, timeout_ns: i64, is_wanted: bool) {
        locked(&self.shared.ended).get_or_insert(reason);
        self.shared.is_closed.fetch_or(is_wanted, Ordering::AcqRel);
        self.shared.is_ended.store(true, Ordering::Release);
        py.detach(|| self.shared.net.close(Duration::from_nanos(timeout_ns.max(0) as u64)));
        self.shared.net.notify();
        *locked(&self.shared.hooks) = Hooks::default();
    }

    /// A child that was forked has this connection, but its parent uses it: nothing is read or sent here.
    fn disown(&self, reason: String) {
        locked(&self.shared.ended).get_or_insert(reason);
        self.shared.is_ended.store(true, Ordering::Release);
    }

    /// What an event loop has to watch.
    fn descriptors(&self) -> Vec<i32> {
        self.shared.net.descriptors()
    }

    #[getter]
    fn now(&self) -> i64 {
        self.shared.net.now()
    }

    fn set_now(&self, now: i64) {
        if let Some(time) = &self.shared.time {
            time.store(now, Ordering::Relaxed);
        }
    }

    fn feed(&self, data: PyBackedBytes) {
        self.shared.net.feed(&data);
    }

    fn drain<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.shared.net.drain())
    }

    /// Messages in datagrams that the socket did not take.
    #[getter]
    fn dropped(&self) -> u64 {
        self.shared.net.dropped()
    }

    #[getter]
    fn unroutable(&self) -> u64 {
        self.shared.net.with(|session| session.unroutable())
    }
}

impl Connection {
    /// Has the ring hand over what it has kept; the reading side of it, if there is one.
    fn swapped(&self, py: Python<'_>) -> Option<&Drain> {
        let drain = self.shared.drain.as_ref()?;
        py.detach(|| {
            let (rows, portions) = (drain.rows(), drain.portions());
            self.shared.net.with(|session| portions.put_down(session.swap_records(rows)));
        });
        Some(drain)
    }
}

fn word(occasion: Occasion) -> &'static str {
    match occasion {
        Occasion::Late => "late",
        Occasion::Bound => "bound",
        Occasion::Apart => "apart",
        Occasion::Gap => "gap",
        Occasion::Full => "full",
    }
}
