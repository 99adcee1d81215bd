//! mtep sends what the pseudocode of S1 sends, and drops what rule (14) drops, at every instant.

use giusto_core::id::Nanos;
use giusto_core::output::{
    Admission, Expiry, Link, Lost, Metrics, NO_DEADLINE_NS, Outgoing, OutputQueue, Overflow, Target, Terms,
    expired, policy,
};
use proptest::prelude::*;

/// One thing that happens to a queue.
#[derive(Clone, Debug)]
enum Step {
    Push { size_bytes: u32, age: i64, timeout: i64, terms: Vec<Terms>, copies: usize },
    Pop { advance: i64 },
    Retune { mean_transmission: i64 },
}

/// Times and delays of a scenario are multiples of this, so that one generator serves slow and fast links.
#[derive(Clone, Copy, Debug)]
struct Scale {
    unit_ns: i64,
}

fn one_terms(scale: Scale) -> impl Strategy<Value = Terms> {
    let deadline = prop_oneof![
        8 => prop::sample::select(vec![20, 24, 30, 40, 60]),
        4 => 1i64..80,
        1 => Just(NO_DEADLINE_NS / scale.unit_ns)
    ];
    let money = prop_oneof![
        4 => prop::sample::select(vec![(3.0, 0.3), (2.5, 0.25), (2.0, 0.2), (1.5, 0.15), (1.0, 0.1)]),
        1 => (0.0..5.0f64, 0.0..5.0f64),
        1 => Just((0.0, 1.0))
    ];
    let variance = prop_oneof![1 => Just(0.0), 4 => 0.0..0.5f64];
    (deadline, money, 0u32..7, 0.0..0.5f64, variance, 0i64..2).prop_map(
        move |(deadline, (price, penalty), nodenum, mean, variance, subscriber_delay)| {
            let unit = scale.unit_ns as f64;
            Terms {
                deadline_ns: deadline * scale.unit_ns,
                price,
                penalty,
                nodenum,
                mean_ns_per_kb: mean * unit,
                variance_ns2_per_kb2: variance * variance * unit * unit,
                subscriber_delay_ns: subscriber_delay * scale.unit_ns / 50,
            }
        },
    )
}

fn step(scale: Scale) -> impl Strategy<Value = Step> {
    let size = prop::sample::select(vec![0u32, 1, 10 << 10, 50 << 10]);
    let timeout = prop_oneof![3 => Just(0i64), 1 => 1i64..70];
    let advance = prop_oneof![3 => Just(0i64), 4 => 0..scale.unit_ns, 2 => 0..4 * scale.unit_ns, 1 => 0..30 * scale.unit_ns];
    prop_oneof![
        6 => (size, 0i64..40, timeout, prop::collection::vec(one_terms(scale), 0..7), 1usize..4).prop_map(
            |(size_bytes, age, timeout, terms, copies)| Step::Push { size_bytes, age, timeout, terms, copies }
        ),
        5 => advance.prop_map(|advance| Step::Pop { advance }),
        1 => (0..5 * scale.unit_ns).prop_map(|mean_transmission| Step::Retune { mean_transmission }),
    ]
}

fn scenario() -> impl Strategy<Value = (Scale, Link, Option<Expiry>, Vec<Step>)> {
    let scale =
        prop::sample::select(vec![1_000_000_000i64, 1_000_000, 100, 1]).prop_map(|unit_ns| Scale { unit_ns });
    scale.prop_flat_map(|scale| {
        let epsilon = prop::sample::select(vec![0.0, 1e-12, 0.04, 0.3, 0.9]);
        let weight = prop_oneof![Just(0.0), Just(0.4), Just(1.0), 0.0..1.0f64];
        let expiry = prop::sample::select(vec![None, None, Some(Expiry::None), Some(Expiry::Dead)]);
        let link = (epsilon, weight, 0..4 * scale.unit_ns).prop_map(
            move |(epsilon, weight, mean_transmission_ns)| Link {
                processing_delay_ns: scale.unit_ns / 500,
                mean_transmission_ns,
                epsilon,
                weight,
            },
        );
        (Just(scale), link, expiry, prop::collection::vec(step(scale), 1..120))
    })
}

fn queue(name: &str, expiry: Option<Expiry>, link: Link) -> OutputQueue {
    policy(name).unwrap().queue(1000, Overflow::DropOldest, expiry, link).unwrap()
}

/// Runs both queues through `steps` and demands the same choice and the same losses at each.
fn compare(scale: Scale, link: Link, expiry: Option<Expiry>, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (mut fast, mut plain) = (queue("mtep", expiry, link), queue("mtep-reference", expiry, link));
    let (mut now, mut token) = (0, 0);
    for step in steps {
        let (mut fast_lost, mut plain_lost) = (Vec::new(), Vec::new());
        match step {
            Step::Push { size_bytes, age, timeout, terms, copies } => {
                for _ in 0..copies {
                    let (published_ns, timeout_ns) = (now - age * scale.unit_ns, timeout * scale.unit_ns);
                    let message = Outgoing { token, size_bytes, priority: 0, published_ns, timeout_ns };
                    token += 1;
                    prop_assert_eq!(fast.push(now, message, &terms, &mut fast_lost), Ok(Admission::Queued));
                    prop_assert_eq!(plain.push(now, message, &terms, &mut plain_lost), Ok(Admission::Queued));
                }
            }
            Step::Pop { advance } => {
                now += advance;
                prop_assert_eq!(fast.pop(now, &mut fast_lost), plain.pop(now, &mut plain_lost), "at {}", now);
            }
            Step::Retune { mean_transmission } => {
                fast.set_mean_transmission_ns(mean_transmission).unwrap();
                plain.set_mean_transmission_ns(mean_transmission).unwrap();
            }
        }
        prop_assert_eq!(sorted(fast_lost), sorted(plain_lost), "at {}", now);
        prop_assert_eq!(fast.len(), plain.len());
    }
    Ok(())
}

fn sorted(mut lost: Vec<Lost>) -> Vec<Lost> {
    lost.sort_by_key(|lost| lost.token);
    lost
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12 * ProptestConfig::default().cases))]

    #[test]
    fn mtep_chooses_as_the_pseudocode((scale, link, expiry, steps) in scenario()) {
        compare(scale, link, expiry, steps)?;
    }
}

const SECONDS: Scale = Scale { unit_ns: 1_000_000_000 };

/// The same terms, with a deadline of a minute if they had none.
fn with_deadline(terms: Terms) -> Terms {
    Terms { deadline_ns: terms.deadline_ns.min(60 * SECONDS.unit_ns), ..terms }
}

/// The first instant at or after 0 at which rule (14) drops the message.
fn first_expired_ns(message: &Outgoing, targets: &[Target], epsilon: f64) -> Nanos {
    let (mut low, mut high) = (0, 1i64 << 60);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        *(if expired(message, targets, epsilon, middle) { &mut high } else { &mut low }) = middle;
    }
    high
}

proptest! {
    #[test]
    fn every_policy_expires_at_the_very_instant_of_rule_14(
        terms in prop::collection::vec(one_terms(SECONDS).prop_map(with_deadline), 1..6),
        size_bytes in 0u32..100_000,
        epsilon in prop::sample::select(vec![0.0, 0.04, 0.5]),
        name in prop::sample::select(vec!["fifo", "priority", "lrt", "mtep", "mtep-reference"]),
    ) {
        let link = Link { epsilon, ..Link::default() };
        let message = Outgoing { token: 7, size_bytes, priority: 0, published_ns: 0, timeout_ns: 0 };
        let targets: Vec<Target> = terms.iter().map(|terms| Target::new(&message, terms, &link)).collect();
        if expired(&message, &targets, epsilon, 0) {
            return Ok(());
        }
        let gone_ns = first_expired_ns(&message, &targets, epsilon);
        for (now, sent) in [(gone_ns - 1, true), (gone_ns, false)] {
            let mut queue = queue(name, Some(Expiry::Eps), link);
            let mut lost = Vec::new();
            queue.push(0, message, &terms, &mut lost).unwrap();
            prop_assert_eq!(queue.pop(now, &mut lost).is_some(), sent);
            prop_assert_eq!(lost.len(), usize::from(!sent));
        }
    }
}

/// Three subscriptions by hand: one certain, one at even odds, one hopeless.
#[test]
fn metrics_follow_fig_5_and_not_equation_3() {
    let link = Link { processing_delay_ns: 0, mean_transmission_ns: 1_000, epsilon: 0.04, weight: 0.25 };
    let message = Outgoing { token: 1, size_bytes: 1024, priority: 0, published_ns: 0, timeout_ns: 0 };
    let terms = |deadline_ns| Terms {
        deadline_ns,
        price: 2.0,
        penalty: 0.5,
        nodenum: 1,
        mean_ns_per_kb: 100.0,
        variance_ns2_per_kb2: 100.0,
        subscriber_delay_ns: 0,
    };
    // At 10 000: slack of 5 000, of 0 and of -5 000 ns with a spread of 10 ns.
    let targets: Vec<Target> =
        [15_100, 10_100, 5_100].map(|deadline| Target::new(&message, &terms(deadline), &link)).to_vec();
    let metrics = Metrics::of(&targets, &link, 10_000);
    let expected = Metrics {
        expected_earning: 2.0 * (1.0 + 0.5),
        expected_penalty: 0.5 * 0.5, // the hopeless one is not charged
        postponed_earning: 2.0,      // one LMT later only the first is left,
        postponed_penalty: 0.0,      // and the second is not charged either
        postponed_cost: 3.0 - 0.25 - 2.0,
        priority: 0.25 * 3.0 + 0.75 * (0.75 + 0.25),
    };
    assert_eq!(metrics, expected);
}
