//! A message on its way to one client.

use giusto_core::engine::Delivery;
use giusto_core::frame::{Decoded, Decoder, Frame};
use pyo3::prelude::*;

/// A message that a link carries to one client.
#[pyclass(name = "Delivery", module = "giusto._core", frozen, get_all)]
pub(crate) struct PyDelivery {
    topic: u32,
    source: u32,
    subscriptions: Vec<u32>,
    sequence: u64,
    priority: u8,
    sent_ns: i64,
    intended_ns: i64,
    timeout_ns: i64,
    attributes: std::borrow::Cow<'static, [u8]>,
    payload: std::borrow::Cow<'static, [u8]>,
}

impl PyDelivery {
    pub(super) fn new(delivery: Delivery<'_>) -> Option<Self> {
        let Ok(Decoded::Frame { frame: Frame::Data(data), .. }) =
            Decoder::new(u32::MAX).decode(delivery.frame)
        else {
            return None;
        };
        Some(Self {
            topic: delivery.topic.0,
            source: delivery.source.0,
            subscriptions: delivery.subscriptions.iter().map(|id| id.0).collect(),
            sequence: data.header.sequence,
            priority: data.header.priority,
            sent_ns: data.header.t_sent_ns,
            intended_ns: data.header.t_intended_ns,
            timeout_ns: data.header.timeout_ns,
            attributes: data.attributes.to_vec().into(),
            payload: data.payload.to_vec().into(),
        })
    }
}
