//! Decoded frames as frozen Python values.

use giusto_core::frame::{self, Frame};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Hello>()?;
    module.add_class::<Data>()?;
    module.add_class::<Control>()?;
    module.add_class::<Credit>()?;
    module.add_class::<Probe>()?;
    module.add_class::<Failure>()?;
    module.add_class::<Goodbye>()
}

/// The frame with bytes of its own.
pub(super) fn from<'py>(py: Python<'py>, frame: Frame<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match frame {
        Frame::Hello(frame::Hello { version }) => Bound::new(py, Hello { version })?.into_any(),
        Frame::Data(data) => Bound::new(py, Data::new(data))?.into_any(),
        Frame::Control(body) => Bound::new(py, Control { body: body.to_vec() })?.into_any(),
        Frame::Credit(frame::Credit { stream, amount }) => {
            Bound::new(py, Credit { stream, amount })?.into_any()
        }
        Frame::Probe(frame::Probe { echo, sequence, t_sent_ns, t_echoed_ns }) => {
            Bound::new(py, Probe { echo, sequence, t_sent_ns, t_echoed_ns })?.into_any()
        }
        Frame::Error(frame::Failure { code, text }) => {
            Bound::new(py, Failure { code, text: text.to_owned() })?.into_any()
        }
        Frame::Goodbye => Bound::new(py, Goodbye {})?.into_any(),
    })
}

macro_rules! value {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* }) => {
        $(#[$doc])*
        #[pyclass(frozen, eq, get_all, module = "giusto._core")]
        #[derive(PartialEq)]
        struct $name { $($field: $type),* }

        #[pymethods]
        impl $name {
            /// `Name(field=value, …)`, each value as Python prints it.
            fn __repr__(&self, _py: Python<'_>) -> PyResult<String> {
                let fields: &[String] = &[$(field(stringify!($field), _py, self.$field.clone())?),*];
                Ok(format!("{}({})", stringify!($name), fields.join(", ")))
            }
        }
    };
}

fn field<'py>(name: &str, py: Python<'py>, value: impl IntoPyObjectExt<'py>) -> PyResult<String> {
    Ok(format!("{name}={}", value.into_bound_py_any(py)?.repr()?))
}

value! {
    /// Which version the other side speaks.
    Hello { version: u16 }
}
value! {
    /// A published message.
    Data {
        priority: u8, flags: u16, stream: u32, source: u32, sequence: u64, t_intended_ns: i64,
        t_sent_ns: i64, timeout_ns: i64, attributes: Vec<u8>, payload: Vec<u8>
    }
}
value! {
    /// A request or an answer of the control plane.
    Control { body: Vec<u8> }
}
value! {
    /// Permission to send more on one stream.
    Credit { stream: u32, amount: u32 }
}
value! {
    /// A measurement of the round trip.
    Probe { echo: bool, sequence: u64, t_sent_ns: i64, t_echoed_ns: i64 }
}
value! {
    /// Why the other side is about to close the connection.
    Failure { code: u32, text: String }
}
value! {
    /// The other side closes in good order.
    Goodbye {}
}

impl Data {
    fn new(data: frame::Data<'_>) -> Self {
        let header = data.header;
        Self {
            priority: header.priority,
            flags: header.flags,
            stream: header.stream,
            source: header.source,
            sequence: header.sequence,
            t_intended_ns: header.t_intended_ns,
            t_sent_ns: header.t_sent_ns,
            timeout_ns: header.timeout_ns,
            attributes: data.attributes.to_vec(),
            payload: data.payload.to_vec(),
        }
    }
}
