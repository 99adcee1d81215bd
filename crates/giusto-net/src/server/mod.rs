//! The data thread of a broker: sockets around a [`Hub`], and the handle by which others reach it.
//!
//! One thread owns everything that forwards a message, so nothing is locked on the way. See [`turn`] for what it does
//! in which order, and what bounds each part.

mod link;
mod listen;
mod mailbox;
mod pace;
mod sockets;
mod turn;

use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::record::Portion;
use rustix::mm::{MlockAllFlags, mlockall};

use crate::hub::{Event, Hub, HubConfig};
use listen::Listener;
use mailbox::Mailbox;
use turn::Turner;

pub use mailbox::{Answer, Gone};
pub(crate) use turn::Bench;

/// How a server is made.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The broker itself; it carries datagrams if it listens for them.
    pub hub: HubConfig,
    /// `tcp://host:port`, `udp://host:port`, `unix:///path`.
    pub listen: Vec<String>,
    /// Period of the polling server; 0 serves whenever there is work.
    pub period_ns: Nanos,
    /// Time of each period that it may use.
    pub budget_ns: Nanos,
    /// Never sleep.
    pub busy_poll: bool,
    /// Bytes read from one client in one turn at most.
    pub read_bytes: usize,
    /// Quanta of the engine in one turn at most.
    pub turn_steps: usize,
    /// A client that breaks its offers is read once in this time.
    pub penalty_ns: Nanos,
    /// How long the rest is served before guarded traffic is looked at again.
    pub slice_ns: Nanos,
    /// Quanta of guarded traffic between two writes at most.
    pub guarded_steps: usize,
    /// What may lie in the socket of a client on its way out, as far as the kernel goes by it; 0 leaves it to the kernel.
    pub send_buffer_bytes: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            hub: HubConfig::default(),
            listen: Vec::new(),
            period_ns: 0,
            budget_ns: 0,
            busy_poll: false,
            read_bytes: 65_536,
            turn_steps: 128,
            penalty_ns: 1_000_000,
            slice_ns: 100_000,
            guarded_steps: 8,
            send_buffer_bytes: 0,
        }
    }
}

/// Keeps all memory of the process, also what it takes later, from being swapped out.
pub fn lock_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// What can go wrong before the thread runs.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting cannot be used.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The system refused something.
    #[error(transparent)]
    System(#[from] io::Error),
    /// It has been started before.
    #[error(transparent)]
    Gone(#[from] Gone),
}

enum Phase {
    Bound(Box<Turner>),
    Running(JoinHandle<()>),
    Over,
}

/// A broker's data plane. Dropping it stops the thread.
pub struct Server {
    mailbox: Arc<Mailbox>,
    addresses: Vec<String>,
    phase: Mutex<Phase>,
}

impl Server {
    /// Binds all addresses; serves from [`Server::start`] on.
    pub fn bind(config: ServerConfig) -> Result<Self, StartError> {
        let mut listeners = Vec::new();
        for (index, address) in config.listen.iter().enumerate() {
            let listener = Listener::bind(&format!("listen[{index}]"), address)?;
            listener.limit_sending(config.send_buffer_bytes)?;
            listeners.push(listener);
        }
        let datagrams = listeners.iter().any(|listener| matches!(listener, Listener::Udp(_)));
        let hub = Hub::new(HubConfig { datagrams, ..config.hub.clone() })?;
        let addresses = listeners.iter().map(Listener::address).collect::<io::Result<_>>()?;
        let mailbox = Arc::new(Mailbox::new(config.hub.control_capacity)?);
        let turner = Turner::new(hub, config, listeners, Arc::clone(&mailbox))?;
        Ok(Self { mailbox, addresses, phase: Mutex::new(Phase::Bound(Box::new(turner))) })
    }

    /// Starts the thread; returns its number in the kernel.
    pub fn start(&self) -> Result<i32, StartError> {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let Phase::Bound(turner) = std::mem::replace(&mut *phase, Phase::Over) else {
            return Err(Gone::Stopped.into());
        };
        self.mailbox.open();
        let (give, take) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("giusto-data".into()).spawn(move || {
            // Nobody asks if the caller has given up.
            let _ = give.send(rustix::thread::gettid().as_raw_nonzero().get());
            turner.run();
        })?;
        *phase = Phase::Running(thread);
        take.recv().map_err(|_| Gone::Stopped.into())
    }

    /// As bound, in the order in which they were given.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Has something done by the data thread and waits for what it returns.
    pub fn ask<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Hub, Nanos) -> R + Send + 'static,
    ) -> Result<R, Gone> {
        self.begin(call)?.get()
    }

    /// The same for those who have something else to do meanwhile.
    pub fn begin<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Hub, Nanos) -> R + Send + 'static,
    ) -> Result<Answer<R>, Gone> {
        self.mailbox.ask(call)
    }

    /// Has something done by the data thread, after all that was asked before.
    pub fn tell(&self, call: impl FnOnce(&mut Hub, Nanos) + Send + 'static) -> Result<(), Gone> {
        self.mailbox.tell(call)
    }

    /// What has happened; empty when `timeout` is over or [`Server::wake`] was called.
    pub fn events(&self, timeout: Option<Duration>) -> io::Result<Vec<Event>> {
        self.mailbox.events(timeout)
    }

    /// Ends a wait for events, from any thread or signal handler.
    pub fn wake(&self) {
        self.mailbox.wake();
    }

    /// Whether the thread has stopped, by itself or not.
    pub fn is_over(&self) -> bool {
        self.mailbox.is_over()
    }

    /// What was recorded between the last drain and the end of the thread; it is told once.
    pub fn take_last_records(&self) -> Option<Portion> {
        self.mailbox.take_last_records()
    }

    /// Stops listening and reading, forwards what is queued for at most `drain_ns`, says goodbye to all and waits for the
    /// thread.
    pub fn stop(&self, drain_ns: Nanos) {
        self.mailbox.stop(drain_ns);
        let phase =
            std::mem::replace(&mut *self.phase.lock().unwrap_or_else(PoisonError::into_inner), Phase::Over);
        if let Phase::Running(thread) = phase {
            // A panic has closed the mailbox: whoever calls learns it there.
            let _ = thread.join();
        }
        self.mailbox.close();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(0);
    }
}
