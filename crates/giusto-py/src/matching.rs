//! Filters, attribute blocks and the matcher as Python sees them; topics go by name here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use giusto_core::error::{ChangeError, Invalid};
use giusto_core::frame::attributes::{self, Attributes, Value, ValueRef};
use giusto_core::id::{SubscriptionId, TopicId};
use giusto_core::matching::{self as core, topic};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyMapping, PyString, PyType};

use crate::errors::Raise;
use crate::number::id;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Filter>()?;
    module.add_class::<Float>()?;
    module.add_class::<Matcher>()?;
    module.add_function(wrap_pyfunction!(encode_attributes, module)?)?;
    module.add_function(wrap_pyfunction!(decode_attributes, module)?)?;
    module.add_function(wrap_pyfunction!(topic_matches, module)?)
}

/// A number in single precision: a Python float is a Double.
#[pyclass(frozen, module = "giusto._core")]
struct Float {
    value: f32,
}

#[pymethods]
impl Float {
    #[new]
    #[pyo3(signature = (value, /))]
    fn new(value: f64) -> PyResult<Self> {
        let single = value as f32;
        if value.is_finite() && single.is_infinite() {
            return Err(Invalid::new("Float", value, "a number within ±3.4028235e38").raise());
        }
        Ok(Self { value: single })
    }

    fn __float__(&self) -> f64 {
        f64::from(self.value)
    }

    fn __repr__(&self) -> String {
        format!("Float({:?})", self.value)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().value == self.value)
    }

    fn __hash__(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        (self.value + 0.0).to_bits().hash(&mut hash);
        hash.finish()
    }
}

/// A content filter.
#[pyclass(frozen, module = "giusto._core")]
struct Filter {
    inner: core::Filter,
}

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (text, /))]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Self { inner: text.parse().map_err(Raise::raise)? })
    }

    #[getter]
    fn canonical(&self) -> &str {
        self.inner.canonical()
    }

    #[getter]
    fn comparisons(&self) -> usize {
        self.inner.comparisons()
    }

    #[pyo3(signature = (attributes, /))]
    fn matches(&self, attributes: &Bound<'_, PyAny>) -> PyResult<bool> {
        with_block(Some(attributes), |event| Ok(self.inner.matches(event)))
    }

    fn __str__(&self) -> &str {
        self.inner.canonical()
    }

    fn __repr__(&self) -> String {
        format!("Filter({:?})", self.inner.canonical())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __hash__(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        self.inner.canonical().hash(&mut hash);
        hash.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (String,)) {
        (py.get_type::<Self>(), (self.inner.canonical().to_owned(),))
    }
}

/// The attribute block of an event.
#[pyfunction]
#[pyo3(signature = (attributes, /))]
fn encode_attributes<'py>(attributes: &Bound<'py, PyMapping>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(attributes.py(), &encode(attributes)?))
}

/// The event of an attribute block.
#[pyfunction]
#[pyo3(signature = (block, /))]
pub(crate) fn decode_attributes<'py>(py: Python<'py>, block: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let event = PyDict::new(py);
    for attribute in Attributes::decode(block).map_err(Raise::raise)?.iter() {
        event.set_item(String::from_utf8_lossy(attribute.name()), to_python(py, attribute.value())?)?;
    }
    Ok(event)
}

/// Whether a pattern covers a topic.
#[pyfunction]
fn topic_matches(pattern: &str, name: &str) -> PyResult<bool> {
    topic::check_pattern(pattern).map_err(Raise::raise)?;
    topic::check_name(name).map_err(Raise::raise)?;
    Ok(topic::matches(pattern, name))
}

/// Which subscriptions receive an event.
#[pyclass(module = "giusto._core")]
#[derive(Default)]
struct Matcher {
    inner: core::Matcher,
    topics: HashMap<String, TopicId>,
    free: Vec<TopicId>,
    found: Vec<SubscriptionId>,
}

#[pymethods]
impl Matcher {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[pyo3(signature = (name, /))]
    fn add_topic(&mut self, name: String) -> PyResult<()> {
        let id = self.free.pop().unwrap_or(TopicId(self.topics.len() as u32));
        if let Err(refused) = self.inner.add_topic(id, &name) {
            self.free.push(id);
            return Err(refused.raise());
        }
        self.topics.insert(name, id);
        Ok(())
    }

    #[pyo3(signature = (name, /))]
    fn remove_topic(&mut self, name: &str) -> PyResult<()> {
        let id = self.topic(name)?;
        self.inner.remove_topic(id).map_err(Raise::raise)?;
        self.topics.remove(name);
        self.free.push(id);
        Ok(())
    }

    #[pyo3(signature = (subscription, pattern, filter = None))]
    fn subscribe(
        &mut self,
        subscription: &Bound<'_, PyAny>,
        pattern: &str,
        filter: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let number = SubscriptionId(id("subscription", subscription)?);
        let parsed = filter.map(parse_filter).transpose()?;
        self.inner.subscribe(number, pattern, parsed.as_ref()).map_err(Raise::raise)
    }

    #[pyo3(signature = (subscription, /))]
    fn unsubscribe(&mut self, subscription: &Bound<'_, PyAny>) -> PyResult<()> {
        self.inner.unsubscribe(SubscriptionId(id("subscription", subscription)?)).map_err(Raise::raise)
    }

    #[pyo3(signature = (topic, attributes = None))]
    fn matching(&mut self, topic: &str, attributes: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<u32>> {
        let id = self.topic(topic)?;
        with_block(attributes, |event| {
            self.inner.matching(id, event, &mut self.found).map_err(Raise::raise)
        })?;
        Ok(self.found.iter().map(|id| id.0).collect())
    }

    #[pyo3(signature = (subscription, topic, attributes = None))]
    fn would_match(
        &self,
        subscription: &Bound<'_, PyAny>,
        topic: &str,
        attributes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let (id, topic) = (SubscriptionId(id("subscription", subscription)?), self.topic(topic)?);
        with_block(attributes, |event| self.inner.would_match(id, topic, event).map_err(Raise::raise))
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }
}

impl Matcher {
    fn topic(&self, name: &str) -> PyResult<TopicId> {
        self.topics.get(name).copied().ok_or_else(|| ChangeError::unknown("topic", name).raise())
    }
}

/// A filter that was given as one or as its text.
pub(crate) fn parse_filter(given: &Bound<'_, PyAny>) -> PyResult<core::Filter> {
    match given.cast::<Filter>() {
        Ok(filter) => Ok(filter.get().inner.clone()),
        Err(_) => given.extract::<String>()?.parse().map_err(Raise::raise),
    }
}

/// Calls `work` with an event that was given as a dict, as a block, or not at all.
fn with_block<T>(
    given: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Attributes<'_>) -> PyResult<T>,
) -> PyResult<T> {
    let Some(given) = given else { return work(Attributes::default()) };
    if let Ok(block) = given.cast::<PyBytes>() {
        return work(Attributes::decode(block.as_bytes()).map_err(Raise::raise)?);
    }
    let block = encode(given.cast::<PyMapping>()?)?;
    work(Attributes::decode(&block).map_err(Raise::raise)?)
}

pub(crate) fn encode(given: &Bound<'_, PyMapping>) -> PyResult<Vec<u8>> {
    let mut values = BTreeMap::new();
    for item in given.items()? {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name: String = name.extract().map_err(|_| {
            let shown = name.repr().map_or_else(|_| "a name".to_owned(), |shown| shown.to_string());
            Invalid::new("attribute name", shown, "a str that UTF-8 can encode").raise()
        })?;
        let value = from_python(&name, &value)?;
        values.insert(name, value);
    }
    let mut block = Vec::new();
    attributes::encode(&values, &mut block).map_err(Raise::raise)?;
    Ok(block)
}

fn from_python(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let refuse = |expected: &str| refusal(name, value, expected);
    if value.is_instance_of::<PyBool>() {
        return Err(refuse("an Int or a String: there is no Boolean"));
    }
    if value.is_instance_of::<PyInt>() {
        return value.extract().map(Value::Int).map_err(|_| refuse("a whole number of 64 bits"));
    }
    if value.is_instance_of::<PyFloat>() {
        return value.extract().map(Value::Double);
    }
    if value.is_instance_of::<PyString>() {
        return value.extract().map(Value::String).map_err(|_| refuse("a str that UTF-8 can encode"));
    }
    if let Ok(float) = value.cast::<Float>() {
        return Ok(Value::Float(float.get().value));
    }
    if value.is_instance(&datetime(value.py(), "datetime")?)? {
        return date_from_python(name, value);
    }
    if value.is_instance(&value.py().get_type::<PyFrozenSet>())?
        || value.is_instance_of::<pyo3::types::PySet>()
    {
        return set_from_python(name, value);
    }
    Err(refuse("int, float, Float, str, datetime, or a set of int or of str"))
}

fn refusal(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = value.repr().map_or_else(|_| "a value".to_owned(), |shown| shown.to_string());
    Invalid::new(format!("attributes[{name:?}]"), shown, expected).raise()
}

fn set_from_python(name: &str, set: &Bound<'_, PyAny>) -> PyResult<Value> {
    let refuse = |_| refusal(name, set, "a set of int or of str");
    let (mut ints, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for member in set.try_iter()? {
        match from_python(name, &member?)? {
            Value::Int(int) => drop(ints.insert(int)),
            Value::String(text) => drop(texts.insert(text)),
            _ => return Err(refuse(())),
        }
    }
    match (ints.is_empty(), texts.is_empty()) {
        (false, false) => Err(refuse(())),
        (false, true) => Ok(Value::IntSet(ints)),
        (true, _) => Ok(Value::StringSet(texts)),
    }
}

fn datetime<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("datetime")?.getattr(name)
}

fn epoch(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let utc = datetime(py, "timezone")?.getattr("utc")?;
    datetime(py, "datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, utc))
}

fn date_from_python(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.call_method0("utcoffset")?.is_none() {
        return Err(refusal(name, value, "a datetime with a time zone"));
    }
    let since = value.sub(epoch(value.py())?)?;
    let part = |part| since.getattr(part)?.extract::<i128>();
    let seconds = part("days")? * 86_400 + part("seconds")?;
    let ns = (seconds * 1_000_000 + part("microseconds")?) * 1000;
    let ns =
        i64::try_from(ns).map_err(|_| refusal(name, value, "a date between 1677-09-22 and 2262-04-11"))?;
    Ok(Value::Date(ns))
}

fn to_python<'py>(py: Python<'py>, value: ValueRef<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        ValueRef::Int(value) => value.into_pyobject(py)?.into_any(),
        ValueRef::Float(value) => Bound::new(py, Float { value })?.into_any(),
        ValueRef::Double(value) => value.into_pyobject(py)?.into_any(),
        ValueRef::String(value) => PyString::new(py, value).into_any(),
        // A datetime knows microseconds; what is finer is cut off.
        ValueRef::Date(ns) => {
            let since = datetime(py, "timedelta")?.call1((0, 0, ns.div_euclid(1000)))?;
            epoch(py)?.add(since)?
        }
        ValueRef::IntSet(set) => PyFrozenSet::new(py, set.iter())?.into_any(),
        ValueRef::StringSet(set) => PyFrozenSet::new(py, set.iter().map(String::from_utf8_lossy))?.into_any(),
    })
}
