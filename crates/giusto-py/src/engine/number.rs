//! Numbers and instants that Python gives the engine: one that no value can have is `InvalidInput`.

use giusto_core::id::Nanos;
use pyo3::prelude::*;

use crate::errors::whole;

macro_rules! number {
    ($($(#[$doc:meta])* $name:ident($type:ty), $field:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) $type);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                whole($field, &value, <$type>::MIN..=<$type>::MAX).map(Self)
            }
        }
    )*};
}

number! {
    /// A client.
    PyClient(u32), "client";
    /// A topic.
    PyTopic(u32), "topic";
    /// A flow.
    PyFlow(u32), "flow";
    /// A subscription.
    PySubscription(u32), "subscription";
    /// The present instant.
    Now(Nanos), "now";
}
