//! `twrr` and `smooth` against a literal walk over their cells: the same quantum at every step, with
//! any pattern of arrivals, idle times, clients and changes of weight (A7).

use giusto_core::effort::Effort;
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

/// What happens next.
#[derive(Clone, Debug)]
enum Action {
    Arrive(prop::sample::Index),
    Serve,
    Weigh(prop::sample::Index, u32),
}

/// Visits cell after cell and seat after seat, empty or not.
struct Walk {
    order: fn(&[u32]) -> Vec<usize>,
    /// Whether the walk begins anew when it finds nothing at all.
    starts_over: bool,
    weights: Vec<u32>,
    cells: Vec<usize>,
    changed: bool,
    /// Messages by topic and seat.
    waiting: Vec<Vec<u32>>,
    cell: usize,
    seat: usize,
}

impl Walk {
    fn new(
        order: fn(&[u32]) -> Vec<usize>,
        starts_over: bool,
        weights: &[u32],
        publishers: &[usize],
    ) -> Self {
        let waiting = publishers.iter().map(|&count| vec![0; count]).collect();
        let (cells, weights) = (order(weights), weights.to_vec());
        Self { order, starts_over, weights, cells, changed: false, waiting, cell: 0, seat: 0 }
    }

    fn is_idle(&self) -> bool {
        self.waiting.iter().flatten().all(|&count| count == 0)
    }

    /// New weights count from the beginning of a cycle on.
    fn begin_cycle(&mut self) {
        (self.cell, self.seat) = (0, 0);
        if self.changed {
            (self.cells, self.changed) = ((self.order)(&self.weights), false);
        }
    }

    fn arrive(&mut self, topic: usize, seat: usize) {
        if self.is_idle() && self.changed {
            self.begin_cycle();
        }
        self.waiting[topic][seat] += 1;
    }

    fn weigh(&mut self, topic: usize, weight: u32) {
        self.weights[topic] = weight;
        self.changed = true;
    }

    fn next(&mut self) -> Option<(usize, usize)> {
        if self.is_idle() {
            if self.starts_over || self.changed {
                self.begin_cycle();
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
            (self.cell, self.seat) = (self.cell + 1, 0);
            if self.cell == self.cells.len() {
                self.begin_cycle();
            }
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

/// A `patient` stage is prepared as soon as its weights have changed.
fn compare(
    name: &str,
    patient: bool,
    mut walk: Walk,
    publishers: &[usize],
    actions: &[Action],
) -> Result<(), TestCaseError> {
    let (mut stage, mut queues, seats) = stage(name, &walk.weights, publishers);
    stage.set_patient(patient);
    stage.prepare(&mut Effort::ALL.clone());
    for action in actions {
        match action {
            Action::Arrive(flow) => {
                let flow = flow.index(seats.len());
                let ((topic, seat), flow) = (seats[flow], FlowId(flow as u32));
                walk.arrive(topic, seat);
                if queues.push(0, flow, 0, b"message").unwrap().first {
                    stage.arrived(&queues, TopicId(topic as u32), flow);
                }
            }
            Action::Serve => {
                let served = stage.next(0, &mut queues).map(|served| seats[served.flow.index()]);
                prop_assert_eq!(served, walk.next());
            }
            Action::Weigh(topic, weight) => {
                let topic = topic.index(publishers.len());
                walk.weigh(topic, *weight);
                stage.allot(TopicId(topic as u32), &Share { weight: *weight, ..Share::default() });
                stage.prepare(&mut Effort::ALL.clone());
                prop_assert!(stage.is_prepared());
            }
        }
    }
    Ok(())
}

/// All that arrived is served, however slowly tables are made, and however many changes come meanwhile.
fn serve_all(
    weights: &[u32],
    publishers: &[usize],
    actions: &[Action],
    units: usize,
) -> Result<(), TestCaseError> {
    let (mut stage, mut queues, seats) = stage("smooth", weights, publishers);
    stage.set_patient(true);
    for action in actions {
        match action {
            Action::Arrive(flow) => {
                let flow = FlowId(flow.index(seats.len()) as u32);
                if queues.push(0, flow, 0, b"message").unwrap().first {
                    stage.arrived(&queues, TopicId(seats[flow.index()].0 as u32), flow);
                }
            }
            Action::Serve => {
                stage.prepare(&mut Effort::units(units));
                stage.next(0, &mut queues);
            }
            Action::Weigh(topic, weight) => {
                let topic = TopicId(topic.index(publishers.len()) as u32);
                stage.allot(topic, &Share { weight: *weight, ..Share::default() });
            }
        }
    }
    while !stage.is_prepared() {
        stage.prepare(&mut Effort::units(units));
    }
    while stage.next(0, &mut queues).is_some() {}
    prop_assert_eq!(queues.len(), 0);
    Ok(())
}

fn load() -> impl Strategy<Value = (Vec<u32>, Vec<usize>)> {
    (1usize..7).prop_flat_map(|topics| {
        let weights = prop::collection::vec(prop_oneof![1u32..9, Just(4), Just(8)], topics);
        (weights, prop::collection::vec(1usize..5, topics))
    })
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        11 => any::<prop::sample::Index>().prop_map(Action::Arrive),
        9 => Just(Action::Serve),
        1 => (any::<prop::sample::Index>(), 1u32..9).prop_map(|(topic, weight)| Action::Weigh(topic, weight)),
    ];
    prop::collection::vec(action, 1..300)
}

proptest! {
    #[test]
    fn twrr_is_figure_3_without_the_empty_quanta((weights, publishers) in load(), actions in actions()) {
        compare("twrr", false, Walk::new(figure_3, true, &weights, &publishers), &publishers, &actions)?;
    }

    #[test]
    fn smooth_is_its_table_without_the_empty_quanta((weights, publishers) in load(), actions in actions()) {
        for patient in [false, true] {
            let walk = Walk::new(credits, false, &weights, &publishers);
            compare("smooth", patient, walk, &publishers, &actions)?;
        }
    }

    #[test]
    fn a_patient_stage_serves_everything(
        (weights, publishers) in load(), actions in actions(), units in 1usize..12,
    ) {
        serve_all(&weights, &publishers, &actions, units)?;
    }
}

#[test]
fn the_portions_of_a_table_are_as_many_as_it_has_cells() {
    for topics in [60u32, 600] {
        let mut stage = policy("smooth").unwrap();
        stage.set_patient(true);
        let weights = 1_001..1_001 + topics.min(60);
        let cells: u32 = (0..topics).map(|n| 1_001 + n % 60).sum();
        for (topic, weight) in weights.cycle().take(topics as usize).enumerate() {
            stage.allot(TopicId(topic as u32), &Share { weight, ..Share::default() });
        }
        let mut portions = 0;
        while !stage.is_prepared() {
            stage.prepare(&mut Effort::units(256));
            portions += 1;
        }
        // A cell is one unit, and one more for 16 different weights.
        assert!((cells / 256..=5 * cells / 256 + 10).contains(&portions), "{portions} for {cells}");
    }
}
