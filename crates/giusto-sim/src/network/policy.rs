//! Which policy a link or a processor has: one of giusto-core's by its name, or one that the caller makes.

use std::fmt;
use std::sync::Arc;

use giusto_core::error::Invalid;
use giusto_core::input::{self, InputStage};
use giusto_core::output::{self, Expiry, OutputQueue, OutputStage};

use super::scenario::Link;

/// A policy of one stage.
pub enum Policy<T: ?Sized> {
    /// By its name.
    Named(String),
    /// What makes an empty stage for each run.
    Made(Arc<dyn Fn() -> Box<T> + Send + Sync>),
}

/// The policy of a link.
pub type OutputPolicy = Policy<dyn OutputStage>;
/// The policy of a processor.
pub type InputPolicy = Policy<dyn InputStage>;

impl<T: ?Sized> Clone for Policy<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Named(name) => Self::Named(name.clone()),
            Self::Made(make) => Self::Made(Arc::clone(make)),
        }
    }
}

impl<T: ?Sized> fmt::Debug for Policy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name())
    }
}

impl<T: ?Sized> From<&str> for Policy<T> {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl<T: ?Sized> Policy<T> {
    /// What errors call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Made(_) => "a policy of the caller",
        }
    }
}

impl InputPolicy {
    /// An empty stage.
    pub(super) fn stage(&self) -> Result<Box<dyn InputStage>, Invalid> {
        match self {
            Self::Named(name) => input::policy(name),
            Self::Made(make) => Ok(make()),
        }
    }
}

impl OutputPolicy {
    /// The expiry mode of a link, if it does not say.
    pub(super) fn expiry(&self) -> Result<Expiry, Invalid> {
        match self {
            Self::Named(name) => output::policy(name).map(|policy| policy.expiry),
            Self::Made(_) => Ok(Expiry::Dead),
        }
    }

    /// An empty queue for `link`.
    pub(super) fn queue(&self, link: &Link, parameters: output::Link) -> Result<OutputQueue, Invalid> {
        match self {
            Self::Named(name) => {
                output::policy(name)?.queue(link.capacity, link.overflow, link.expiry, parameters)
            }
            Self::Made(make) => {
                let expiry = link.expiry.map_or_else(|| self.expiry(), Ok)?;
                OutputQueue::new(make(), link.capacity.into(), link.overflow, expiry, parameters)
            }
        }
    }
}
