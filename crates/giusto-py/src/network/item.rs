//! The options of one entry of a scenario: what is wrong is named with its path, `links[3].epsilon`.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Arc;

use giusto_core::error::Invalid;
use giusto_core::id::Nanos;
use giusto_core::input::Share;
use giusto_core::output::{Expiry, Overflow, SPAN_NS_MAX};
use giusto_core::policer::{Burst, Limit};
use giusto_core::queue::CAPACITY_MAX;
use giusto_sim::network::{
    Attribute, Delay, Fault, FaultKind, InputPolicy, MediumKind, OutputPolicy, Processor, Workload,
};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Raise;
use crate::input::PyShare;
use crate::number::whole;
use crate::options::Options;
use crate::policy::{Complaint, PythonInput, PythonOutput};

/// One entry on its way in.
pub(super) struct Item<'py> {
    list: &'static str,
    place: usize,
    options: Options<'py>,
}

impl<'py> Item<'py> {
    pub(super) fn new(
        list: &'static str,
        place: usize,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        Ok(Self { list, place, options: Options::new(options)? })
    }

    /// Takes the option called `name`.
    pub(super) fn take(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.options.take(name)
    }

    /// Refuses options that nobody has taken.
    pub(super) fn finish(self) -> PyResult<()> {
        self.options.finish(self.list.trim_end_matches('s'))
    }

    fn path(&self, name: &str) -> String {
        format!("{}[{}].{name}", self.list, self.place)
    }

    fn wrong(&self, name: &str, value: impl Display, expected: &str) -> PyErr {
        Invalid::new(self.path(name), value, expected).raise()
    }

    fn under(&self, fault: Invalid) -> PyErr {
        Invalid { field: self.path(&fault.field), ..fault }.raise()
    }

    fn number<T>(&self, name: &str, value: &Bound<'py, PyAny>, range: RangeInclusive<T>) -> PyResult<T>
    where
        T: TryFrom<i128> + PartialOrd + Display + Clone,
    {
        // The path is only made if it is needed.
        whole(name, value, range.clone()).or_else(|_| whole(&self.path(name), value, range))
    }

    /// The number of another entry.
    pub(super) fn id(&self, name: &str, value: &Bound<'py, PyAny>) -> PyResult<u32> {
        self.number(name, value, 0..=u32::MAX)
    }

    pub(super) fn whole<T>(&self, name: &str, range: RangeInclusive<T>, default: T) -> PyResult<T>
    where
        T: TryFrom<i128> + PartialOrd + Display + Clone,
    {
        self.take(name)?.map_or(Ok(default), |value| self.number(name, &value, range))
    }

    /// A duration.
    pub(super) fn span(&self, name: &str, default: Nanos) -> PyResult<Nanos> {
        self.whole(name, 0..=SPAN_NS_MAX, default)
    }

    pub(super) fn optional_span(&self, name: &str) -> PyResult<Option<Nanos>> {
        self.take(name)?.map(|value| self.number(name, &value, 0..=SPAN_NS_MAX)).transpose()
    }

    fn needed<T>(&self, name: &str, range: RangeInclusive<T>) -> PyResult<T>
    where
        T: TryFrom<i128> + PartialOrd + Display + Clone,
    {
        let value = self.take(name)?.ok_or_else(|| self.wrong(name, "nothing", "a value"))?;
        self.number(name, &value, range)
    }

    pub(super) fn real(&self, name: &str, default: f64) -> PyResult<f64> {
        let Some(value) = self.take(name)? else { return Ok(default) };
        value.extract().map_err(|_| self.wrong(name, &value, "a number"))
    }

    pub(super) fn text(&self, name: &str, default: &str) -> PyResult<String> {
        let Some(value) = self.take(name)? else { return Ok(default.to_owned()) };
        value.extract().map_err(|_| self.wrong(name, &value, "a text"))
    }

    /// A list of plain values; none if it is not given.
    pub(super) fn list<T: FromPyObjectOwned<'py>>(&self, name: &str) -> PyResult<Vec<T>> {
        let Some(value) = self.take(name)? else { return Ok(Vec::new()) };
        value.extract().map_err(|_| self.wrong(name, &value, "a list, with numbers in 64 bits"))
    }

    /// One whole number up to `most`, or the least and the greatest of those to draw from.
    pub(super) fn range<T>(&self, name: &str, most: T) -> PyResult<(T, T)>
    where
        T: TryFrom<i128> + PartialOrd + Display + Default + Clone,
    {
        let Some(value) = self.take(name)? else { return Ok((T::default(), T::default())) };
        let (least, greatest): (Bound<'py, PyAny>, Bound<'py, PyAny>) =
            value.extract().unwrap_or_else(|_| (value.clone(), value.clone()));
        let number = |given| whole(name, given, T::default()..=most.clone());
        let drawn = number(&least).and_then(|least| Ok((least, number(&greatest)?)));
        let expected = format!("a whole number from 0 to {most}, or the least and the greatest");
        drawn.map_err(|_| self.wrong(name, &value, &expected))
    }

    pub(super) fn expiry(&self) -> PyResult<Option<Expiry>> {
        let Some(name) = self.take("expiry")? else { return Ok(None) };
        Expiry::named(&name.to_string()).map(Some).map_err(|fault| self.under(fault))
    }

    pub(super) fn overflow(&self) -> PyResult<Overflow> {
        Overflow::named(&self.text("overflow", "drop_oldest")?).map_err(|fault| self.under(fault))
    }

    /// The name of an output policy, or what makes one in Python.
    pub(super) fn output_policy(&self, complaint: &Complaint) -> PyResult<OutputPolicy> {
        let Some(given) = self.take("policy")? else { return Ok("fifo".into()) };
        if let Some(name) = self.policy_name("policy", &given)? {
            return Ok(OutputPolicy::Named(name));
        }
        let (factory, complaint) = (given.unbind(), complaint.clone());
        Ok(OutputPolicy::Made(Arc::new(move || Box::new(PythonOutput::new(&factory, complaint.clone())))))
    }

    fn policy_name(&self, field: &str, given: &Bound<'py, PyAny>) -> PyResult<Option<String>> {
        match given.extract() {
            Ok(name) => Ok(Some(name)),
            Err(_) if given.is_callable() => Ok(None),
            Err(_) => {
                Err(self.wrong(field, given, "the name of a policy, or a class or function that makes one"))
            }
        }
    }

    /// `input` is the policy of a processor; without it there is none.
    pub(super) fn processor(&self, complaint: &Complaint) -> PyResult<Option<Processor>> {
        let Some(given) = self.take("input")? else { return Ok(None) };
        let input = match self.policy_name("input", &given)? {
            Some(name) => InputPolicy::Named(name),
            None => {
                let (factory, complaint) = (given.unbind(), complaint.clone());
                InputPolicy::Made(Arc::new(move || Box::new(PythonInput::new(&factory, complaint.clone()))))
            }
        };
        let period_ns = self.optional_span("period_ns")?;
        let budget_ns = self.optional_span("budget_ns")?;
        let pace = match (period_ns, budget_ns) {
            (None, None) => None,
            (Some(period_ns), Some(budget_ns)) => Some((period_ns, budget_ns)),
            _ => return Err(self.wrong("period_ns", "alone", "period_ns and budget_ns together")),
        };
        Ok(Some(Processor {
            input,
            fragment_bytes: self.whole("fragment_bytes", 0..=u32::MAX, 65_536)?,
            search_ns: self.span("search_ns", 0)?,
            capacity: self.whole("capacity", 0..=u32::MAX, CAPACITY_MAX)?,
            pace,
        }))
    }

    pub(super) fn share(&self) -> PyResult<Share> {
        let Some(value) = self.take("share")? else { return Ok(Share::default()) };
        let share: Result<PyShare, _> = value.extract();
        share.map(|share| share.0).map_err(|_| self.wrong("share", &value, "a Share"))
    }

    /// The rules of the medium called `kind`; those of Ethernet have the times of 10 Mbit/s unless told otherwise.
    pub(super) fn medium(&self, kind: &str) -> PyResult<MediumKind> {
        match kind {
            "ethernet" => Ok(MediumKind::Ethernet {
                slot_ns: self.span("slot_ns", 51_200)?,
                gap_ns: self.span("gap_ns", 9_600)?,
                attempts: self.whole("attempts", 0..=u32::MAX, 16)?,
            }),
            "can" => Ok(MediumKind::Can),
            "switched" => Ok(MediumKind::Switched),
            _ => Err(self.wrong("kind", kind, "one of ethernet, can, switched")),
        }
    }

    /// `delay` says which model; the other options are its parameters.
    pub(super) fn delay(&self) -> PyResult<Delay> {
        let model = self.text("delay", "constant")?;
        match model.as_str() {
            "normal" => Ok(Delay::Normal {
                mean_ns_per_kb: self.real("mean_ns_per_kb", 0.0)?,
                deviation_ns_per_kb: self.real("deviation_ns_per_kb", 0.0)?,
            }),
            "constant" => Ok(Delay::Constant { delay_ns: self.span("delay_ns", 0)? }),
            "bandwidth" => Ok(Delay::Bandwidth {
                bits_per_s: self.needed("bits_per_s", 1..=u64::MAX)?,
                overhead_bytes: self.whole("overhead_bytes", 0..=u32::MAX, 0)?,
                least_bytes: self.whole("least_bytes", 0..=u32::MAX, 0)?,
            }),
            _ => Err(self.wrong("delay", model, "one of normal, constant, bandwidth")),
        }
    }

    /// What schedulers are told of a link: a normal delay, if a mean is given.
    pub(super) fn estimate(&self) -> PyResult<Option<Delay>> {
        let mean_ns_per_kb = self.real("estimate_mean_ns_per_kb", f64::NAN)?;
        let deviation_ns_per_kb = self.real("estimate_deviation_ns_per_kb", 0.0)?;
        Ok((!mean_ns_per_kb.is_nan()).then_some(Delay::Normal { mean_ns_per_kb, deviation_ns_per_kb }))
    }

    /// `workload` says which; the other options are its parameters.
    pub(super) fn workload(&self) -> PyResult<Workload> {
        let kind = self.text("workload", "periodic")?;
        let span = 0..=SPAN_NS_MAX;
        match kind.as_str() {
            "periodic" => Ok(Workload::Periodic {
                period_ns: self.needed("period_ns", span)?,
                phase_ns: self.optional_span("phase_ns")?,
                jitter_ns: self.span("jitter_ns", 0)?,
            }),
            "poisson" => Ok(Workload::Poisson { mean_ns: self.needed("mean_ns", span)? }),
            "uniform" => Ok(Workload::Uniform {
                low_ns: self.needed("low_ns", span.clone())?,
                high_ns: self.needed("high_ns", span)?,
            }),
            "greedy" => Ok(Workload::Greedy {
                burst: self.whole("burst", 0..=u32::MAX, 1)?,
                count: self.whole("count", 0..=u32::MAX, 1)?,
                period_ns: self.needed("period_ns", span)?,
            }),
            "trace" => Ok(Workload::Trace { at_ns: self.list("at_ns")? }),
            _ => Err(self.wrong("workload", kind, "one of periodic, poisson, uniform, greedy, trace")),
        }
    }

    /// The fault called `kind`, from `from_ns` to before `to_ns`, or for ever.
    pub(super) fn fault(&self, kind: &str) -> PyResult<Fault> {
        let link = || self.needed("link", 0..=u32::MAX);
        let kind = match kind {
            "link_down" => FaultKind::LinkDown { link: link()? },
            "broker_down" => FaultKind::BrokerDown { broker: self.needed("broker", 0..=u32::MAX)? },
            "spike" => FaultKind::Spike {
                link: link()?,
                factor: self.real("factor", 1.0)?,
                extra_ns: self.span("extra_ns", 0)?,
            },
            "loss" => FaultKind::Loss { link: link()?, probability: self.real("probability", 1.0)? },
            _ => return Err(self.wrong("kind", kind, "one of link_down, broker_down, spike, loss")),
        };
        let window = (self.span("from_ns", 0)?, self.whole("to_ns", 0..=Nanos::MAX, Nanos::MAX)?);
        Ok(Fault { kind, window })
    }

    /// `(name, low, high)` of each attribute.
    pub(super) fn attributes(&self) -> PyResult<Vec<Attribute>> {
        let drawn: Vec<(String, f64, f64)> = self.list("attributes")?;
        Ok(drawn.into_iter().map(|(name, low, high)| Attribute { name, low, high }).collect())
    }

    /// `(count, period_ns, burst, jitter_ns)` of the offer that is policed; the burst may be a fraction.
    pub(super) fn limit(&self) -> PyResult<Option<Limit>> {
        let Some(given) = self.take("limit")? else { return Ok(None) };
        let wrong = |_| self.wrong("limit", &given, "(count, period_ns, burst, jitter_ns)");
        let (count, period_ns, burst, jitter_ns): (i64, Nanos, Bound<'py, PyAny>, Nanos) =
            given.extract().map_err(wrong)?;
        let ratio = burst.call_method0("as_integer_ratio").and_then(|ratio| ratio.extract());
        let (numerator, denominator): (i64, i64) = ratio.map_err(wrong)?;
        Ok(Some(Limit { count, period_ns, burst: Burst { numerator, denominator }, jitter_ns }))
    }
}
