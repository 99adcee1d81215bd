//! The output stage as Python sees it.

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::output::{
    Admission, Expiry, Link, Lost, Metrics, Outgoing, OutputQueue, Overflow, POLICIES, Reason, Room, Terms,
    policy,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Raise;
use crate::number::{id, instant, whole_or};
use crate::policy::{Complaint, PythonOutput};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyOutgoing>()?;
    module.add_class::<PyTerms>()?;
    module.add_class::<PyMetrics>()?;
    module.add_class::<PyOutputQueue>()?;
    module.add_function(wrap_pyfunction!(output_policies, module)?)
}

/// The names of the output policies that may be configured, in the order of the registry.
#[pyfunction]
fn output_policies() -> Vec<&'static str> {
    POLICIES.iter().map(|policy| policy.name).collect()
}

/// A message that waits for a link.
#[pyclass(name = "Outgoing", module = "giusto._core", frozen, eq)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyOutgoing(pub(crate) Outgoing);

#[pymethods]
impl PyOutgoing {
    #[new]
    #[pyo3(signature = (token, *, published_ns, size_bytes=None, priority=None, timeout_ns=None))]
    fn new(
        token: &Bound<'_, PyAny>,
        published_ns: &Bound<'_, PyAny>,
        size_bytes: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
        timeout_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(Outgoing {
            token: id("token", token)?,
            size_bytes: whole_or("size_bytes", size_bytes, 0..=u32::MAX, 0)?,
            priority: whole_or("priority", priority, 0..=u8::MAX, 0)?,
            published_ns: instant("published_ns", published_ns)?,
            timeout_ns: whole_or("timeout_ns", timeout_ns, Nanos::MIN..=Nanos::MAX, 0)?,
        }))
    }

    #[getter]
    fn token(&self) -> u32 {
        self.0.token
    }

    #[getter]
    fn size_bytes(&self) -> u32 {
        self.0.size_bytes
    }

    #[getter]
    fn priority(&self) -> u8 {
        self.0.priority
    }

    #[getter]
    fn published_ns(&self) -> Nanos {
        self.0.published_ns
    }

    #[getter]
    fn timeout_ns(&self) -> Nanos {
        self.0.timeout_ns
    }

    fn __repr__(&self) -> String {
        let Outgoing { token, size_bytes, priority, published_ns, timeout_ns } = self.0;
        format!(
            "Outgoing({token}, published_ns={published_ns}, size_bytes={size_bytes}, priority={priority}, \
             timeout_ns={timeout_ns})"
        )
    }
}

/// What one matched subscription asks and pays, and the path to it.
#[pyclass(name = "Terms", module = "giusto._core", frozen, eq)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyTerms(pub(crate) Terms);

#[pymethods]
impl PyTerms {
    #[new]
    #[pyo3(signature = (*, deadline_ns, price=0.0, penalty=0.0, nodenum=None, mean_ns_per_kb=0.0,
                        variance_ns2_per_kb2=0.0, subscriber_delay_ns=None))]
    fn new(
        deadline_ns: &Bound<'_, PyAny>,
        price: f64,
        penalty: f64,
        nodenum: Option<&Bound<'_, PyAny>>,
        mean_ns_per_kb: f64,
        variance_ns2_per_kb2: f64,
        subscriber_delay_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(Terms {
            deadline_ns: instant("deadline_ns", deadline_ns)?,
            price,
            penalty,
            nodenum: whole_or("nodenum", nodenum, 0..=u32::MAX, 0)?,
            mean_ns_per_kb,
            variance_ns2_per_kb2,
            subscriber_delay_ns: whole_or(
                "subscriber_delay_ns",
                subscriber_delay_ns,
                Nanos::MIN..=Nanos::MAX,
                0,
            )?,
        }))
    }

    #[getter]
    fn deadline_ns(&self) -> Nanos {
        self.0.deadline_ns
    }

    #[getter]
    fn price(&self) -> f64 {
        self.0.price
    }

    #[getter]
    fn penalty(&self) -> f64 {
        self.0.penalty
    }

    #[getter]
    fn nodenum(&self) -> u32 {
        self.0.nodenum
    }

    #[getter]
    fn mean_ns_per_kb(&self) -> f64 {
        self.0.mean_ns_per_kb
    }

    #[getter]
    fn variance_ns2_per_kb2(&self) -> f64 {
        self.0.variance_ns2_per_kb2
    }

    #[getter]
    fn subscriber_delay_ns(&self) -> Nanos {
        self.0.subscriber_delay_ns
    }

    fn __repr__(&self) -> String {
        let Terms { deadline_ns, price, penalty, nodenum, .. } = self.0;
        let Terms { mean_ns_per_kb, variance_ns2_per_kb2, subscriber_delay_ns, .. } = self.0;
        format!(
            "Terms(deadline_ns={deadline_ns}, price={price:?}, penalty={penalty:?}, nodenum={nodenum}, \
             mean_ns_per_kb={mean_ns_per_kb:?}, variance_ns2_per_kb2={variance_ns2_per_kb2:?}, \
             subscriber_delay_ns={subscriber_delay_ns})"
        )
    }
}

/// EE, EP, EE′, EP′, PC and priority of one message at one instant.
#[pyclass(name = "Metrics", module = "giusto._core", frozen, get_all, eq)]
#[derive(Clone, PartialEq)]
struct PyMetrics {
    expected_earning: f64,
    expected_penalty: f64,
    postponed_earning: f64,
    postponed_penalty: f64,
    postponed_cost: f64,
    priority: f64,
}

impl From<Metrics> for PyMetrics {
    fn from(metrics: Metrics) -> Self {
        Self {
            expected_earning: metrics.expected_earning,
            expected_penalty: metrics.expected_penalty,
            postponed_earning: metrics.postponed_earning,
            postponed_penalty: metrics.postponed_penalty,
            postponed_cost: metrics.postponed_cost,
            priority: metrics.priority,
        }
    }
}

#[pymethods]
impl PyMetrics {
    fn __repr__(&self) -> String {
        format!(
            "Metrics(expected_earning={:?}, expected_penalty={:?}, postponed_earning={:?}, \
             postponed_penalty={:?}, postponed_cost={:?}, priority={:?})",
            self.expected_earning,
            self.expected_penalty,
            self.postponed_earning,
            self.postponed_penalty,
            self.postponed_cost,
            self.priority
        )
    }
}

/// Messages that were lost: token and reason.
type Losses = Vec<(u32, &'static str)>;

fn losses(lost: &[Lost]) -> Losses {
    let reason = |reason| match reason {
        Reason::Expired => "expired",
        Reason::Evicted => "evicted",
        Reason::Refused => "refused",
    };
    lost.iter().map(|lost| (lost.token, reason(lost.reason))).collect()
}

/// One bounded queue in front of one link.
#[pyclass(name = "OutputQueue", module = "giusto._core")]
struct PyOutputQueue {
    core: OutputQueue,
    policy: String,
    lost: Vec<Lost>,
    complaint: Complaint,
}

#[pymethods]
impl PyOutputQueue {
    #[new]
    #[pyo3(signature = (policy, *, capacity=None, limit_bytes=None, overflow="drop_oldest", expiry=None, weight=None, epsilon=None,
                        processing_delay_ns=None, mean_transmission_ns=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword-only in Python")]
    fn new(
        policy: &Bound<'_, PyAny>,
        capacity: Option<&Bound<'_, PyAny>>,
        limit_bytes: Option<&Bound<'_, PyAny>>,
        overflow: &str,
        expiry: Option<&str>,
        weight: Option<f64>,
        epsilon: Option<f64>,
        processing_delay_ns: Option<&Bound<'_, PyAny>>,
        mean_transmission_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let default = Link::default();
        let link = Link {
            processing_delay_ns: whole_or(
                "processing_delay_ns",
                processing_delay_ns,
                Nanos::MIN..=Nanos::MAX,
                default.processing_delay_ns,
            )?,
            mean_transmission_ns: whole_or(
                "mean_transmission_ns",
                mean_transmission_ns,
                Nanos::MIN..=Nanos::MAX,
                default.mean_transmission_ns,
            )?,
            epsilon: epsilon.unwrap_or(default.epsilon),
            weight: weight.unwrap_or(default.weight),
        };
        let room = Room {
            messages: whole_or("capacity", capacity, 0..=usize::MAX, 1024)?,
            bytes: whole_or("limit_bytes", limit_bytes, 0..=u64::MAX, u64::MAX)?,
        };
        let complaint = Complaint::default();
        let make = |name: Option<&str>| {
            let expiry = expiry.map(Expiry::named).transpose()?;
            let overflow = Overflow::named(overflow)?;
            if let Some(name) = name {
                return self::policy(name)?.queue(room, overflow, expiry, link);
            }
            let stage = PythonOutput::new(&policy.clone().unbind(), complaint.clone());
            OutputQueue::new(Box::new(stage), room, overflow, expiry.unwrap_or(Expiry::Dead), link)
        };
        let name = policy.extract::<String>().ok();
        let core = make(name.as_deref()).map_err(Invalid::raise)?;
        complaint.raise()?;
        let policy = name.unwrap_or_else(|| policy.to_string());
        Ok(Self { core, policy, lost: Vec::new(), complaint })
    }

    /// Offers a message; what became of it, and what was lost by it.
    #[pyo3(signature = (now_ns, message, terms=Vec::new()))]
    fn push(
        &mut self,
        now_ns: &Bound<'_, PyAny>,
        message: &PyOutgoing,
        terms: Vec<PyRef<'_, PyTerms>>,
    ) -> PyResult<(&'static str, Losses)> {
        let terms: Vec<Terms> = terms.iter().map(|terms| terms.0).collect();
        self.lost.clear();
        let admission = self.core.push(instant("now_ns", now_ns)?, message.0, &terms, &mut self.lost);
        self.complaint.raise()?;
        let outcome = match admission.map_err(Invalid::raise)? {
            Admission::Queued => "queued",
            Admission::Refused => "refused",
            Admission::Disconnect => "disconnect",
        };
        Ok((outcome, losses(&self.lost)))
    }

    /// The message to send, if there is one, and those found expired.
    fn pop(&mut self, now_ns: &Bound<'_, PyAny>) -> PyResult<(Option<PyOutgoing>, Losses)> {
        self.lost.clear();
        let message = self.core.pop(instant("now_ns", now_ns)?, &mut self.lost);
        self.complaint.raise()?;
        Ok((message.map(PyOutgoing), losses(&self.lost)))
    }

    fn __len__(&self) -> usize {
        self.core.len()
    }

    /// The policy's name.
    #[getter]
    fn policy(&self) -> &str {
        &self.policy
    }

    /// The most messages that may be queued.
    #[getter]
    fn capacity(&self) -> usize {
        self.core.room().messages
    }

    /// Bytes of the messages that are queued.
    #[getter]
    fn bytes(&self) -> u64 {
        self.core.bytes()
    }

    /// Messages since the queue was made, by what became of them.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.core.counts();
        let dict = PyDict::new(py);
        dict.set_item("pushed", counts.pushed)?;
        dict.set_item("popped", counts.popped)?;
        dict.set_item("expired", counts.expired)?;
        dict.set_item("evicted", counts.evicted)?;
        dict.set_item("refused", counts.refused)?;
        Ok(dict)
    }

    /// Messages evaluated exactly and messages bounded since the queue was made.
    #[getter]
    fn work(&self) -> (u64, u64) {
        let work = self.core.work();
        (work.evaluations, work.bounds)
    }

    /// LMT.
    #[getter]
    fn mean_transmission_ns(&self) -> Nanos {
        self.core.link().mean_transmission_ns
    }

    #[setter]
    fn set_mean_transmission_ns(&mut self, mean_transmission_ns: &Bound<'_, PyAny>) -> PyResult<()> {
        let mean_transmission_ns = instant("mean_transmission_ns", mean_transmission_ns)?;
        self.core.set_mean_transmission_ns(mean_transmission_ns).map_err(Invalid::raise)
    }

    /// The metrics of a queued message, or None if it is not queued or the policy has none.
    fn metrics(&self, now_ns: &Bound<'_, PyAny>, token: &Bound<'_, PyAny>) -> PyResult<Option<PyMetrics>> {
        let metrics = self.core.metrics(instant("now_ns", now_ns)?, id("token", token)?);
        Ok(metrics.map(PyMetrics::from))
    }
}
