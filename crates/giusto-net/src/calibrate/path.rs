//! The way of one message through the broker, which slept before it came.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;

use giusto_core::engine::{Need, Offer};
use giusto_core::frame::{Data, DataHeader, Frame, LIMIT_BYTES};
use giusto_core::id::{FlowId, Nanos};
use giusto_core::input::Share;
use giusto_core::policer::Limit;
use giusto_core::queue::Bounds;

use super::WARM_UP;
use super::peers::{Sender, drain};
use super::series::{Effort, Series, Span, timed};
use crate::clock;
use crate::hub::ConnId;
use crate::server::Bench;

/// Turns after which all have been told what there is to be told.
const SETTLING: usize = 256;
/// Messages that may wait of one flow.
const CAPACITY: u32 = 1_024;

/// A broker that keeps records, with one publisher, whose messages go to everybody else, and threads at the other ends.
pub(super) struct Scene {
    pub(super) bench: Bench,
    pub(super) publisher: ConnId,
    pub(super) flow: FlowId,
    pub(super) sender: Sender,
    reader: Option<JoinHandle<()>>,
}

impl Scene {
    pub(super) fn new(fanout: usize, limit: Option<Limit>) -> io::Result<Self> {
        Self::with(limit, |bench| (0..fanout).map(|number| subscriber(bench, number)).collect())
    }

    /// With subscribers of any kind, whose sockets are given back.
    pub(super) fn with(
        limit: Option<Limit>,
        subscribers: impl FnOnce(&mut Bench) -> io::Result<Vec<TcpStream>>,
    ) -> io::Result<Self> {
        let mut bench = Bench::new().map_err(io::Error::other)?;
        let (stream, publisher) = bench.client("publisher")?;
        // The credits that come back are read too.
        let mut readers = vec![stream.try_clone()?];
        readers.append(&mut subscribers(&mut bench)?);
        let topic = bench.hub().declare("t", Share::default()).map_err(io::Error::other)?;
        bench.hub().guard(topic, true).map_err(io::Error::other)?;
        let offer = Offer { bounds: Bounds { capacity: CAPACITY, limit_bytes: LIMIT_BYTES }, limit };
        let flow = bench.hub().advertise(publisher, topic, &offer).map_err(io::Error::other)?;
        // Greetings go out, and the publisher becomes urgent.
        (0..SETTLING).for_each(|_| bench.turn());
        let (sender, reader) = (Sender::new(stream)?, Some(drain(readers)?));
        Ok(Self { bench, publisher, flow, sender, reader })
    }

    /// A data frame of the publisher.
    pub(super) fn frame(&self, size_bytes: usize) -> io::Result<Vec<u8>> {
        self.frame_with(&[], size_bytes)
    }

    /// One with attributes.
    pub(super) fn frame_with(&self, attributes: &[u8], size_bytes: usize) -> io::Result<Vec<u8>> {
        let header = DataHeader { stream: self.flow.0, ..DataHeader::default() };
        let (mut bytes, payload) = (Vec::new(), vec![0x5a; size_bytes]);
        let frame = Frame::Data(Data { header, attributes, payload: &payload });
        frame.encode(&mut bytes, LIMIT_BYTES).map_err(io::Error::other)?;
        Ok(bytes)
    }

    /// Sends bytes to the sleeping broker and reads until `is_done`; returns the time of all reads together.
    pub(super) fn read(
        &mut self,
        bytes: &Arc<[u8]>,
        is_done: impl Fn(&mut Bench) -> bool,
    ) -> io::Result<Span> {
        self.bench.drain();
        self.sender.send(bytes)?;
        let mut spent = Span::default();
        loop {
            self.bench.sleep()?;
            spent += timed(|| self.bench.read(self.publisher)).1;
            if is_done(&mut self.bench) {
                return Ok(spent);
            }
        }
    }

    /// Writes to all who have something to be sent; `note` gets the time of each write to a subscriber.
    pub(super) fn write(&mut self, mut note: impl FnMut(Span)) -> io::Result<()> {
        let mut noted = vec![self.publisher];
        loop {
            let (written, mut spent) = timed(|| self.bench.write());
            let Some(id) = written else { return Ok(()) };
            while self.bench.is_blocked(id) {
                self.bench.sleep()?;
                spent += timed(|| self.bench.write_on(id)).1;
            }
            // Who could not be written to at once is tried once more, for nothing.
            if !noted.contains(&id) {
                noted.push(id);
                note(spent);
            }
        }
    }

    /// Closes all connections and waits for the other ends.
    pub(super) fn close(mut self) {
        let reader = self.reader.take();
        // The connections go with the broker; its peers end then.
        drop(self);
        if let Some(reader) = reader {
            let _ = reader.join();
        }
    }
}

fn subscriber(bench: &mut Bench, number: usize) -> io::Result<TcpStream> {
    let (stream, id) = bench.client(&format!("subscriber {number}"))?;
    bench.hub().subscribe(id, "#", None, &Need::default()).map_err(io::Error::other)?;
    Ok(stream)
}

pub(super) fn measure(size_bytes: usize, fanout: usize, effort: Effort) -> io::Result<Vec<Series>> {
    let mut scene = Scene::new(fanout, None)?;
    let mut series = ["take", "step", "write", "serve"].map(|kind| Series::new(kind, effort));
    let end_ns = effort.end_ns();
    let outcome = repeat(&mut scene, size_bytes, &mut series, end_ns);
    scene.close();
    outcome.map(|()| series.into())
}

fn repeat(scene: &mut Scene, size_bytes: usize, series: &mut [Series; 4], end_ns: Nanos) -> io::Result<()> {
    let bytes: Arc<[u8]> = scene.frame(size_bytes)?.into();
    let [take, step, write, serve] = series;
    for round in 0.. {
        if take.is_full() || clock::now() >= end_ns {
            break;
        }
        let is_kept = round >= WARM_UP;
        let taken = scene.read(&bytes, |bench| bench.hub().has_work())?;
        let mut served = timed(|| scene.bench.step()).1;
        while scene.bench.hub().has_work() {
            // A large message has several quanta.
            served += timed(|| scene.bench.step()).1;
        }
        let mut written = Span::default();
        scene.write(|span| {
            written += span;
            if is_kept {
                write.push(span);
            }
        })?;
        if is_kept {
            take.push(taken);
            step.push(served);
            // A disturbance rarely hits more than one piece: the whole is not the sum of the worst of each.
            served += written;
            serve.push(served);
        }
    }
    Ok(())
}
