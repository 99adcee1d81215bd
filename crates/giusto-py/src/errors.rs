//! Core errors as the exceptions of `giusto.errors`: the one place where they are converted.

use giusto_core::engine::IngestError;
use giusto_core::error::{ChangeError, Invalid};
use giusto_core::frame::data::HEADER_BYTES;
use giusto_core::frame::{EncodeError, FrameError};
use giusto_core::matching::FilterSyntax;
use giusto_core::queue::Rejected;

use giusto_core::frame::attributes::BlockError;
use pyo3::prelude::*;

/// A core error that has an exception in `giusto.errors`.
pub(crate) trait Raise {
    /// The exception, not yet raised.
    fn raise(self) -> PyErr;
}

/// `giusto.errors.<class>(*arguments)`.
pub(crate) fn exception<A>(class: &str, arguments: A) -> PyErr
where
    A: for<'py> pyo3::call::PyCallArgs<'py>,
{
    Python::attach(|py| {
        let make = || py.import("giusto.errors")?.getattr(class)?.call1(arguments);
        match make() {
            Ok(value) => PyErr::from_value(value),
            Err(error) => error,
        }
    })
}

impl Raise for Invalid {
    fn raise(self) -> PyErr {
        exception("InvalidInput", (self.field, self.value, self.expected))
    }
}

impl Raise for ChangeError {
    fn raise(self) -> PyErr {
        match self {
            Self::Invalid(invalid) => invalid.raise(),
            Self::Unknown { kind, name } => exception("Unknown", (kind, name)),
            Self::Duplicate { kind, name } => exception("Duplicate", (kind, name)),
        }
    }
}

impl Raise for IngestError {
    fn raise(self) -> PyErr {
        match self {
            Self::UnknownFlow(flow) => ChangeError::unknown("flow", flow.0).raise(),
            Self::Attributes(block) => block.raise(),
            Self::Policed(flow) => exception("Policed", (flow.0,)),
            Self::Rejected(rejected) => rejected.raise(),
        }
    }
}

impl Raise for Rejected {
    fn raise(self) -> PyErr {
        match self {
            Self::UnknownFlow(flow) => ChangeError::unknown("flow", flow.0).raise(),
            Self::Full { flow, capacity } => exception("QueueFull", (flow.0, capacity)),
            // An offer is on attributes and payload; what is queued is the frame.
            Self::TooLarge { size_bytes, limit_bytes, .. } => {
                let sizes = [size_bytes, limit_bytes].map(|bytes| bytes.saturating_sub(HEADER_BYTES as u32));
                exception("TooLarge", ("size_bytes", sizes[0], sizes[1]))
            }
            Self::StoreFull { flow, capacity } => exception("StoreFull", (flow.0, capacity)),
            Self::Priority(priority) => Invalid::new("priority", priority, "0 to 7").raise(),
        }
    }
}

impl Raise for FilterSyntax {
    fn raise(self) -> PyErr {
        exception("FilterSyntax", (self.text, self.position, self.problem))
    }
}

impl Raise for FrameError {
    fn raise(self) -> PyErr {
        exception("ProtocolError", (self.reason.to_string(), self.offset))
    }
}

impl Raise for EncodeError {
    fn raise(self) -> PyErr {
        match self {
            Self::Invalid(invalid) => invalid.raise(),
            Self::TooLarge { field, bytes, limit } => exception("TooLarge", (field, bytes, limit)),
        }
    }
}

impl Raise for BlockError {
    fn raise(self) -> PyErr {
        exception("ProtocolError", (self.problem, self.offset))
    }
}
