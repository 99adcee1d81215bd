//! A broker's data plane as Python sees it: in its own thread, or in memory.

use std::borrow::Cow;
use std::sync::{Mutex, OnceLock};

use giusto_core::id::Nanos;
use giusto_net::hub::{ConnId, Hub};
use giusto_net::memory::Memory;
use giusto_net::server::{Server, ServerConfig, StartError, lock_memory};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

mod door;

use crate::errors::{Raise, exception};
use crate::number::{instant, whole};
use crate::options::Options;
use door::{Place, PyDoor, conn, hold, hub_config};

impl Raise for StartError {
    fn raise(self) -> PyErr {
        match self {
            Self::Invalid(invalid) => invalid.raise(),
            Self::System(error) => error.into(),
            Self::Gone(gone) => gone.raise(),
        }
    }
}

/// Longest period of a polling server: calls and the stop wait for its end.
const PERIOD_NS_MAX: Nanos = 60_000_000_000;

/// The handle on the data thread of a broker.
#[pyclass(name = "Plane", module = "giusto._core", extends = PyDoor, frozen)]
struct PyPlane {
    thread_id: OnceLock<i32>,
}

/// The server's part of the options.
fn server_config(options: &Options<'_>) -> PyResult<ServerConfig> {
    let default = ServerConfig::default();
    let (period_ns, budget_ns) = (
        options.whole("period_ns", 0..=PERIOD_NS_MAX, default.period_ns)?,
        options.whole("budget_ns", 0..=Nanos::MAX, default.budget_ns)?,
    );
    if (period_ns > 0) != (budget_ns > 0) || budget_ns > period_ns {
        let expected = "a period and a budget not above it, or neither";
        return Err(exception("InvalidInput", ("budget_ns", budget_ns, expected)));
    }
    Ok(ServerConfig {
        hub: hub_config(options)?,
        listen: options.take("listen")?.map_or(Ok(Vec::new()), |listen| listen.extract())?,
        period_ns,
        budget_ns,
        busy_poll: options.take("busy_poll")?.map_or(Ok(false), |flag| flag.extract())?,
        read_bytes: options.whole("read_bytes", 1_024..=1 << 24, default.read_bytes)?,
        turn_steps: options.whole("turn_steps", 1..=1 << 20, default.turn_steps)?,
        penalty_ns: options.whole("penalty_ns", 0..=1_000_000_000, default.penalty_ns)?,
        slice_ns: options.whole("slice_ns", 1_000..=1_000_000_000, default.slice_ns)?,
        guarded_steps: options.whole("guarded_steps", 1..=1_024, default.guarded_steps)?,
        send_buffer_bytes: options.whole("send_buffer_bytes", 0..=1 << 30, default.send_buffer_bytes)?,
    })
}

#[pymethods]
impl PyPlane {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(options: Option<&Bound<'_, PyDict>>) -> PyResult<PyClassInitializer<Self>> {
        let options = Options::new(options)?;
        let config = server_config(&options)?;
        options.finish("Plane")?;
        let engine = config.hub.engine.clone();
        let server = Server::bind(config).map_err(Raise::raise)?;
        let door = PyClassInitializer::from(PyDoor::new(Place::Thread(server), &engine));
        Ok(door.add_subclass(Self { thread_id: OnceLock::new() }))
    }

    /// Starts to serve.
    fn start(slf: PyRef<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let server = server(slf.as_super())?;
        let number = py.detach(|| server.start()).map_err(Raise::raise)?;
        // A second start has failed above.
        let _ = slf.thread_id.set(number);
        Ok(())
    }

    /// As bound, in the order of `listen`.
    #[getter]
    fn addresses(slf: PyRef<'_, Self>) -> PyResult<Vec<String>> {
        Ok(server(slf.as_super())?.addresses().to_vec())
    }

    /// The number of the data thread in the kernel.
    #[getter]
    fn thread_id(&self) -> PyResult<i32> {
        let missing = || exception("Closed", ("the data thread has not been started",));
        self.thread_id.get().copied().ok_or_else(missing)
    }

    /// Keeps all memory of the process, also what it takes later, from being swapped out.
    fn lock_memory(&self) -> PyResult<()> {
        Ok(lock_memory()?)
    }

    /// Stops to listen and read, forwards what is queued for at most `drain_ns`, says goodbye and ends the thread.
    fn stop(slf: PyRef<'_, Self>, drain_ns: &Bound<'_, PyAny>) -> PyResult<()> {
        let drain_ns = whole("drain_ns", drain_ns, 0..=Nanos::MAX)?;
        let py = slf.py();
        let server = server(slf.as_super())?;
        py.detach(|| server.stop(drain_ns));
        Ok(())
    }
}

fn server(door: &PyDoor) -> PyResult<&Server> {
    match &door.place {
        Place::Thread(server) => Ok(server),
        Place::Memory(_) => Err(PyTypeError::new_err("not a plane with a thread")),
    }
}

/// The same without sockets and thread, driven by the caller's clock.
#[pyclass(name = "MemoryPlane", module = "giusto._core", extends = PyDoor, frozen)]
struct PyMemoryPlane;

fn memory(door: &PyDoor) -> PyResult<&Mutex<Memory>> {
    match &door.place {
        Place::Memory(memory) => Ok(memory),
        Place::Thread(_) => Err(PyTypeError::new_err("not a plane in memory")),
    }
}

#[pymethods]
impl PyMemoryPlane {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(options: Option<&Bound<'_, PyDict>>) -> PyResult<PyClassInitializer<Self>> {
        let options = Options::new(options)?;
        let config = hub_config(&options)?;
        options.finish("MemoryPlane")?;
        let engine = config.engine.clone();
        let memory = Memory::new(Hub::new(config).map_err(Raise::raise)?);
        let door = PyDoor::new(Place::Memory(Box::new(Mutex::new(memory))), &engine);
        let door = PyClassInitializer::from(door);
        Ok(door.add_subclass(Self))
    }

    /// A connection; returns its number.
    #[pyo3(signature = (address="memory"))]
    fn open(slf: PyRef<'_, Self>, address: &str) -> PyResult<u64> {
        let opened = hold(memory(slf.as_super())?).open(address.to_owned());
        opened
            .map(|conn| conn.0)
            .ok_or_else(|| exception("Overload", ("as many connections as there may be",)))
    }

    /// Bytes that the client sends.
    fn feed(
        slf: PyRef<'_, Self>,
        now: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
        data: &[u8],
    ) -> PyResult<()> {
        hold(memory(slf.as_super())?).feed(instant("now", now)?, conn, data);
        Ok(())
    }

    /// Does what is due, then spends one quantum; False when nothing waits.
    fn step(slf: PyRef<'_, Self>, now: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(hold(memory(slf.as_super())?).step(instant("now", now)?))
    }

    /// All that goes to the client now; its connection is gone after its last frame.
    fn drain(
        slf: PyRef<'_, Self>,
        now: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
    ) -> PyResult<Cow<'static, [u8]>> {
        Ok(hold(memory(slf.as_super())?).drain(instant("now", now)?, conn).into())
    }

    /// The client is gone.
    fn hang_up(
        slf: PyRef<'_, Self>,
        now: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = conn)] conn: ConnId,
    ) -> PyResult<()> {
        hold(memory(slf.as_super())?).hang_up(instant("now", now)?, conn, "closed by the client");
        Ok(())
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDoor>()?;
    module.add_class::<PyPlane>()?;
    module.add_class::<PyMemoryPlane>()
}
