//! `twrr` and `smooth` against a literal walk over their cells: the same quantum at every step, with
//! any pattern of arrivals, idle times and clients.

use giusto_core::id::{ClientId, FlowId, TopicId};
use giusto_core::input::{InputStage, Share, policy};
use giusto_core::queue::{Bounds, Queues};
use proptest::prelude::*;

/// Topic of each cell of one cycle, word for word as [Li11] Fig. 3 prints it.
fn figure_3(weights: &[u32]) -> Vec<usize> {
    let divisor = weights.iter().fold(0, |a, &b| gcd(a, b));
    let (max, cells) = (*weights.iter().max().unwrap(), weights.iter().sum::<u32>() / divisor);
    let (mut k, mut cw, mut order) = (-1, 0, Vec::new());
    while order.len() < cells as usize {
        k = (k + 1) % weights.len() as i64;
        if k == 0 {
            cw -= i64::from(divisor);
            if cw <= 0 {
                cw = i64::from(max);
            }
        }
        if i64::from(weights[k as usize]) >= cw {
            order.push(k as usize);
        }
    }
    order
}

/// Earn your weight; the richest is served and pays the sum.
fn credits(weights: &[u32]) -> Vec<usize> {
    let divisor = weights.iter().fold(0, |a, &b| gcd(a, b));
    let weights: Vec<i64> = weights.iter().map(|&weight| i64::from(weight / divisor)).collect();
    let total: i64 = weights.iter().sum();
    let mut credit = vec![0; weights.len()];
    (0..total)
        .map(|_| {
            credit.iter_mut().zip(&weights).for_each(|(credit, weight)| *credit += weight);
            let best = (0..weights.len()).max_by_key(|&k| (credit[k], std::cmp::Reverse(k))).unwrap();
            credit[best] -= total;
            best
        })
        .collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Visits cell after cell and seat after seat, empty or not.
struct Walk {
    cells: Vec<usize>,
    /// Messages by topic and seat.
    waiting: Vec<Vec<u32>>,
    cell: usize,
    seat: usize,
}

impl Walk {
    fn next(&mut self, starts_over: bool) -> Option<(usize, usize)> {
        if self.waiting.iter().flatten().all(|&count| count == 0) {
            if starts_over {
                (self.cell, self.seat) = (0, 0);
            }
            return None;
        }
        loop {
            let topic = self.cells[self.cell];
            while self.seat < self.waiting[topic].len() {
                self.seat += 1;
                if self.waiting[topic][self.seat - 1] > 0 {
                    self.waiting[topic][self.seat - 1] -= 1;
                    return Some((topic, self.seat - 1));
                }
            }
            (self.cell, self.seat) = ((self.cell + 1) % self.cells.len(), 0);
        }
    }
}

fn stage(
    name: &str,
    weights: &[u32],
    publishers: &[usize],
) -> (Box<dyn InputStage>, Queues, Vec<(usize, usize)>) {
    let mut stage = policy(name).unwrap();
    let mut queues = Queues::new(stage.lanes(), 1024).unwrap();
    let mut seats = Vec::new();
    for (topic, (&weight, &count)) in weights.iter().zip(publishers).enumerate() {
        stage.allot(TopicId(topic as u32), &Share { weight, ..Share::default() });
        for seat in 0..count {
            let flow = FlowId(seats.len() as u32);
            let bounds = Bounds { capacity: 1_000, limit_bytes: 1_000 };
            queues.open(flow, ClientId(seat as u32), TopicId(topic as u32), bounds).unwrap();
            stage.join(&mut queues, TopicId(topic as u32), flow);
            seats.push((topic, seat));
        }
    }
    (stage, queues, seats)
}

fn compare(
    name: &str,
    cells: Vec<usize>,
    starts_over: bool,
    (weights, publishers): (&[u32], &[usize]),
    steps: &[Option<prop::sample::Index>],
) -> Result<(), TestCaseError> {
    let (mut stage, mut queues, seats) = stage(name, weights, publishers);
    let waiting = publishers.iter().map(|&count| vec![0; count]).collect();
    let mut walk = Walk { cells, waiting, cell: 0, seat: 0 };
    for step in steps {
        if let Some(arrival) = step {
            let flow = arrival.index(seats.len());
            let (topic, seat) = seats[flow];
            walk.waiting[topic][seat] += 1;
            let flow = FlowId(flow as u32);
            if queues.push(0, flow, 0, b"message").unwrap().first {
                stage.arrived(&queues, TopicId(topic as u32), flow);
            }
        } else {
            let served = stage.next(0, &mut queues).map(|served| seats[served.flow.index()]);
            prop_assert_eq!(served, walk.next(starts_over));
        }
    }
    Ok(())
}

fn load() -> impl Strategy<Value = (Vec<u32>, Vec<usize>)> {
    (1usize..7).prop_flat_map(|topics| {
        let weights = prop::collection::vec(prop_oneof![1u32..9, Just(4), Just(8)], topics);
        (weights, prop::collection::vec(1usize..5, topics))
    })
}

proptest! {
    #[test]
    fn twrr_is_figure_3_without_the_empty_quanta(
        (weights, publishers) in load(),
        steps in prop::collection::vec(prop::option::weighted(0.55, any::<prop::sample::Index>()), 1..300),
    ) {
        compare("twrr", figure_3(&weights), true, (&weights, &publishers), &steps)?;
    }

    #[test]
    fn smooth_is_its_table_without_the_empty_quanta(
        (weights, publishers) in load(),
        steps in prop::collection::vec(prop::option::weighted(0.55, any::<prop::sample::Index>()), 1..300),
    ) {
        compare("smooth", credits(&weights), false, (&weights, &publishers), &steps)?;
    }
}
