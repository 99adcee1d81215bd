//! The policer against its two promises and against a bucket that keeps its level as an exact fraction.

use std::sync::Arc;

use giusto_core::policer::{Bucket, Burst, Limit, Policer, Rule};
use proptest::collection::vec;
use proptest::prelude::*;

/// A bucket as the textbook has it: a level that rises with time, in fractions of a message.
struct Reference {
    limit: Limit,
    level: Fraction,
    last_ns: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Fraction(i128, i128);

impl Fraction {
    fn reduced(numerator: i128, denominator: i128) -> Self {
        let (mut a, mut b) = (numerator.abs(), denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Self(numerator / a.max(1), denominator / a.max(1))
    }

    fn plus(self, other: Self) -> Self {
        Self::reduced(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }

    fn at_most(self, other: Self) -> bool {
        self.0 * other.1 <= other.0 * self.1
    }
}

/// Messages earned in `elapsed_ns`.
fn earned(limit: Limit, elapsed_ns: i64) -> Fraction {
    Fraction::reduced(i128::from(elapsed_ns) * i128::from(limit.count), i128::from(limit.period_ns))
}

/// B = burst + jitter·rate.
fn installed(limit: Limit) -> Fraction {
    let burst = Fraction::reduced(limit.burst.numerator.into(), limit.burst.denominator.into());
    burst.plus(earned(limit, limit.jitter_ns))
}

impl Reference {
    fn new(limit: Limit) -> Self {
        Self { limit, level: installed(limit), last_ns: None }
    }

    fn conforms(&mut self, now: i64) -> bool {
        let full = installed(self.limit);
        let level = self.level.plus(earned(self.limit, now - self.last_ns.unwrap_or(now)));
        self.level = if level.at_most(full) { level } else { full };
        self.last_ns = Some(now);
        let conforms = Fraction(1, 1).at_most(self.level);
        if conforms {
            self.level = self.level.plus(Fraction(-1, 1));
        }
        conforms
    }
}

/// Whether some closed window holds more than B + ρt of the messages at `times_ns`.
fn exceeds(limit: Limit, times_ns: &[i64]) -> bool {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable();
    let Fraction(a, b) = installed(limit);
    let (count, period) = (i128::from(limit.count), i128::from(limit.period_ns));
    // j - i + 1 <= B + ρ(t_j - t_i) for all i <= j, all of it times period·b.
    let mut least = i128::MAX;
    (0_i128..).zip(&sorted).any(|(j, t)| {
        let height = (j * period - i128::from(*t) * count) * b;
        least = least.min(height);
        height - least + period * b > a * period
    })
}

fn limit() -> impl Strategy<Value = Limit> {
    let burst = (1i64..6, 1i64..7).prop_map(|(denominator, messages)| Burst {
        numerator: denominator * messages + denominator / 2,
        denominator,
    });
    (1i64..50, 1i64..2000, burst, prop_oneof![Just(0i64), 1i64..3000])
        .prop_map(|(count, period_ns, burst, jitter_ns)| Limit { count, period_ns, burst, jitter_ns })
}

proptest! {
    #[test]
    fn decides_as_the_exact_bucket_does(limit in limit(), steps in vec(0i64..300, 0..400), start in -5000i64..5000) {
        let (mut policer, mut reference) = (Policer::new(limit).unwrap(), Reference::new(limit));
        let mut now = start;
        for step in steps {
            now += step;
            prop_assert_eq!(policer.conforms(now), reference.conforms(now));
        }
    }

    #[test]
    fn a_publisher_that_keeps_its_offer_is_never_policed(
        limit in limit(), steps in vec((0i64..400, 0i64..=1000), 1..300)
    ) {
        // Nominal releases conform to the offer without jitter; each is then up to jitter_ns late.
        let mut nominal = Policer::new(Limit { jitter_ns: 0, ..limit }).unwrap();
        let mut now = 0;
        let mut released: Vec<i64> = steps.iter().map(|(step, late)| {
            now = (now + step).max(nominal.next_conforming_ns());
            assert!(nominal.conforms(now));
            now + limit.jitter_ns * late / 1000
        }).collect();
        released.sort_unstable();
        let mut policer = Policer::new(limit).unwrap();
        prop_assert!(released.iter().all(|t| policer.conforms(*t)));
        prop_assert_eq!((policer.accepted(), policer.policed()), (released.len() as u64, 0));
    }

    #[test]
    fn no_window_holds_more_than_the_envelope_in_any_order_of_time(
        limit in limit(), times in vec(-3000i64..3000, 0..500)
    ) {
        let mut policer = Policer::new(limit).unwrap();
        let accepted: Vec<i64> = times.into_iter().filter(|t| policer.conforms(*t)).collect();
        prop_assert!(!exceeds(limit, &accepted));
    }

    #[test]
    fn the_next_conforming_instant_is_the_first(limit in limit(), steps in vec(0i64..100, 1..100)) {
        let mut policer = Policer::new(limit).unwrap();
        let mut now = 0;
        for step in steps {
            now += step;
            policer.conforms(now);
            let next = policer.next_conforming_ns();
            prop_assert!(policer.clone().conforms(next));
            prop_assert!(!policer.clone().conforms(next - 1));
        }
    }

    #[test]
    fn any_limit_and_any_clock_are_survived(
        rate in (edge(), edge()), burst in (edge(), edge()), jitter_ns in edge(), times in vec(edge(), 0..20)
    ) {
        let burst = Burst { numerator: burst.0, denominator: burst.1 };
        if let Ok(mut policer) = Policer::new(Limit { count: rate.0, period_ns: rate.1, burst, jitter_ns }) {
            for now in times {
                let next = policer.next_conforming_ns();
                let conforms = policer.conforms(now);
                prop_assert!(!conforms || now >= next);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_bucket_that_goes_on_survives_any_limits_and_instants(
        offers in vec((edge(), edge(), edge(), edge(), edge()), 1..6),
        times_ns in vec(edge(), 1..6),
    ) {
        let mut bucket = Bucket::new(Arc::new(Rule::new(Limit::min_sep(1)).unwrap()));
        for (count, period_ns, numerator, denominator, jitter_ns) in offers {
            let burst = Burst { numerator, denominator };
            if let Ok(rule) = Rule::new(Limit { count, period_ns, burst, jitter_ns }) {
                bucket = bucket.go_on(Arc::new(rule));
            }
            for &now in &times_ns {
                bucket.conforms(now);
                prop_assert!(bucket.clear_ns().is_some());
            }
        }
    }
}

/// Any number, the ends of the range more often than others.
fn edge() -> impl Strategy<Value = i64> {
    let ends = [i64::MIN, -1, 0, 1, 2, 1_000_000_000, 1 << 31, 1 << 61, 1 << 62, i64::MAX - 1, i64::MAX];
    prop_oneof![2 => proptest::sample::select(ends.to_vec()), 1 => 0i64..=i64::MAX, 1 => any::<i64>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(32)))]

    #[test]
    fn does_not_drift_over_a_hundred_thousand_messages(limit in limit(), seed: u64) {
        let (mut policer, mut reference) = (Policer::new(limit).unwrap(), Reference::new(limit));
        let mut random = seed;
        let mut now = 0;
        let mean_ns = 1 + limit.period_ns / limit.count;
        for _ in 0..100_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            now += (random >> 33) as i64 % (2 * mean_ns);
            prop_assert_eq!(policer.conforms(now), reference.conforms(now));
        }
        prop_assert_eq!(policer.accepted() + policer.policed(), 100_000);
    }
}

#[test]
fn the_installed_burst_includes_the_jitter() {
    let limit = Limit { jitter_ns: 5, ..Limit::min_sep(10) };
    assert_eq!(Policer::new(limit).unwrap().installed_burst(), (3, 2));
    let limit = Limit { burst: Burst { numerator: 7, denominator: 3 }, ..limit };
    assert_eq!(Policer::new(limit).unwrap().installed_burst(), (17, 6));
}

#[test]
fn a_clock_that_swings_earns_nothing() {
    let mut policer = Policer::new(Limit::min_sep(10)).unwrap();
    assert!(policer.conforms(100));
    assert!((0..1000).all(|n| !policer.conforms(if n % 2 == 0 { 0 } else { 109 })));
    assert!(policer.conforms(110));
}

#[test]
fn the_ends_of_time_are_instants_like_others() {
    let mut policer = Policer::new(Limit::min_sep(i64::MAX)).unwrap();
    assert_eq!(policer.next_conforming_ns(), i64::MIN);
    assert!(policer.conforms(i64::MIN));
    assert_eq!(policer.next_conforming_ns(), -1);
    assert!(policer.conforms(i64::MAX));
    assert_eq!(policer.next_conforming_ns(), i64::MAX);
}

#[test]
fn a_limit_that_cannot_be_is_refused_by_name() {
    let good = Limit { count: 3, period_ns: 1000, burst: Burst::ONE, jitter_ns: 0 };
    let refused = |limit: Limit| Policer::new(limit).unwrap_err().field;
    let burst = |numerator, denominator| Limit { burst: Burst { numerator, denominator }, ..good };
    assert_eq!(refused(Limit { count: 0, ..good }), "count");
    assert_eq!(refused(Limit { period_ns: -1, ..good }), "period_ns");
    assert_eq!(refused(Limit { jitter_ns: -1, ..good }), "jitter_ns");
    assert_eq!(refused(burst(2, 3)), "burst");
    assert_eq!(refused(burst(-1, -1)), "burst");
    assert_eq!(refused(burst(i64::MAX, i64::MAX - 1)), "burst");
    let huge = Limit { count: i64::MAX >> 1, period_ns: i64::MAX, ..good };
    assert_eq!(refused(Limit { burst: Burst::messages(i64::MAX), ..huge }), "burst");
    assert_eq!(refused(Limit { jitter_ns: i64::MAX, ..huge }), "jitter_ns");
}
