//! A topic at a constant rate, first alone, then beside another topic that is published without a pause.
//!
//! The flood has connections of its own and gives way to the measured threads on the processor, so that
//! the delays say what the broker does and not how the machine shares itself between our own threads.

use std::io;
use std::thread;

use rustix::process::setpriority_process;
use rustix::thread::gettid;

use super::arguments::Arguments;
use super::clock::{nanoseconds, now, sleep_until};
use super::latency::{panicked, report};
use super::outcome::Outcome;
use super::publisher::Publisher;
use super::subscriber::{Subscriber, Total};
use super::throughput::Flow;
use super::timeline::{SETTLE, Tally, Window, pace};

const INPUT_BYTES: usize = 256 * 1024;

pub(super) fn run(arguments: &Arguments) -> io::Result<Outcome> {
    let (paced, flooded) = (["paced".to_owned()], ["flood".to_owned()]);
    let quiet = Subscriber::open(arguments, &paced, INPUT_BYTES)?;
    let busy = Subscriber::open(arguments, &flooded, INPUT_BYTES)?;
    let mut publisher = Publisher::open(arguments, &paced)?;
    let flooder = Publisher::open(arguments, &flooded)?;

    let start_ns = now();
    let alone = Window::after(start_ns, arguments.window);
    let beside = Window::after(alone.to_ns, arguments.window);
    let windows = [alone, beside];
    let (total, flow, nice) = (Total::unknown(), Flow::default(), arguments.nice);
    let (flood, tally, late) = thread::scope(|scope| {
        let listener = scope.spawn(|| Tally::listen(quiet, &windows, &total));
        let drain = scope.spawn(|| give_way(nice).and_then(|()| flow.listen(busy)));
        let sender = scope.spawn(|| give_way(nice).and_then(|()| flow.send(flooder, alone.to_ns)));
        let meter = scope.spawn(|| flow.rate(beside.from_ns, arguments.window));
        let late = pace(&mut publisher, arguments.rate, start_ns, beside.to_ns);
        total.set(publisher.sent());
        sleep_until(beside.to_ns + nanoseconds(SETTLE) / 3);
        flow.stop();
        let late = late?;
        let rate = meter.join().map_err(|_| panicked())?;
        let flooder = sender.join().map_err(|_| panicked())??;
        let received = drain.join().map_err(|_| panicked())??;
        let tally = listener.join().map_err(|_| panicked())??;
        io::Result::Ok(((rate, flooder.sent(), received), tally, late))
    })?;

    let tallies = [tally];
    let (rate, flood_sent, flood_received) = flood;
    let mut outcome = Outcome::default();
    outcome.text("mode", "flood").text("peer", &arguments.name).count("rate", arguments.rate);
    outcome.delays("alone_", &Tally::delays(&tallies, 0)?).delays("beside_", &Tally::delays(&tallies, 1)?);
    outcome.delays("sender_", &late);
    report(&mut outcome, publisher.sent(), &tallies);
    outcome.number("flood_rate", rate).count("flood_sent", flood_sent);
    outcome.count("flood_lost", flood_sent.saturating_sub(flood_received));
    Ok(outcome)
}

/// Lowers the priority of this thread.
fn give_way(nice: i32) -> io::Result<()> {
    Ok(setpriority_process(Some(gettid()), nice)?)
}
