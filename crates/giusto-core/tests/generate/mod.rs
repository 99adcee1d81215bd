//! Events and filters over few names and few values, so that they often have to do with each other.

use std::collections::BTreeMap;

use giusto_core::frame::attributes::{Value, encode};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

const NAMES: &[&str] = &["a", "b", "c", "in"];
const TEXTS: &[&str] = &[
    "",
    "x",
    "xy",
    "xyz",
    "y",
    "zy",
    "a long text with more than 32 bytes in it",
    "a long text with more than 32 bytes",
];
const NUMBERS: &[&str] = &["-1", "0", "0.5", "1", "2", "2.0", "9007199254740993", "1e300"];
const DATES: &[&str] = &["@1970-01-01", "@1970-01-02", "@1970-01-02T00:00:01.5Z"];

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => (-2i64..4).prop_map(Value::Int),
        1 => Just(Value::Int(9_007_199_254_740_993)),
        2 => (-4i32..6).prop_map(|halves| Value::Double(f64::from(halves) / 2.0)),
        1 => select(vec![9_007_199_254_740_992.0, 1e300, f64::INFINITY]).prop_map(Value::Double),
        1 => (-4i8..6).prop_map(|halves| Value::Float(f32::from(halves) / 2.0)),
        4 => select(TEXTS).prop_map(|text| Value::String(text.to_owned())),
        2 => select(vec![-1i64, 0, 86_400_000_000_000, 86_401_500_000_000]).prop_map(Value::Date),
        2 => btree_set(0i64..4, 0..4).prop_map(Value::IntSet),
        2 => btree_set(select(TEXTS).prop_map(str::to_owned), 0..3).prop_map(Value::StringSet),
    ]
}

/// An encoded attribute block.
pub(crate) fn event() -> impl Strategy<Value = Vec<u8>> {
    btree_map(select(NAMES).prop_map(str::to_owned), value(), 0..5).prop_map(
        |values: BTreeMap<String, Value>| {
            let mut block = Vec::new();
            encode(&values, &mut block).unwrap();
            block
        },
    )
}

fn quoted() -> impl Strategy<Value = String> {
    select(TEXTS).prop_map(|text| format!("\"{text}\""))
}

fn set(member: impl Strategy<Value = String>, least: usize) -> impl Strategy<Value = String> {
    vec(member, least..5).prop_map(|members| format!("{{{}}}", members.join(", ")))
}

fn test() -> impl Strategy<Value = String> {
    let relation = || select(vec!["<", "<=", "=", "=", "!=", ">", ">="]);
    let not = || select(vec!["", "", "not "]);
    let number = || select(NUMBERS).prop_map(str::to_owned);
    let date = || select(DATES).prop_map(str::to_owned);
    let int = || (0i64..4).prop_map(|int| int.to_string());
    let against_set = || select(vec!["subset", "superset"]);
    prop_oneof![
        6 => (relation(), number()).prop_map(|(op, c)| format!("{op} {c}")),
        2 => (relation(), date()).prop_map(|(op, c)| format!("{op} {c}")),
        4 => (relation(), quoted()).prop_map(|(op, c)| format!("{op} {c}")),
        4 => (not(), select(vec!["prefix", "suffix"]), quoted()).prop_map(|(n, op, c)| format!("{n}{op} {c}")),
        1 => (not(), set(number(), 1)).prop_map(|(n, c)| format!("{n}in {c}")),
        1 => (not(), set(date(), 1)).prop_map(|(n, c)| format!("{n}in {c}")),
        1 => (not(), set(quoted(), 1)).prop_map(|(n, c)| format!("{n}in {c}")),
        2 => (not(), against_set(), set(int(), 0)).prop_map(|(n, op, c)| format!("{n}{op} {c}")),
        2 => (not(), against_set(), set(quoted(), 0)).prop_map(|(n, op, c)| format!("{n}{op} {c}")),
        1 => (select(vec!["=", "!="]), set(int(), 0)).prop_map(|(op, c)| format!("{op} {c}")),
        1 => (select(vec!["=", "!="]), set(quoted(), 0)).prop_map(|(op, c)| format!("{op} {c}")),
    ]
}

/// The text of a filter.
pub(crate) fn filter_text() -> impl Strategy<Value = String> {
    let comparison = (select(NAMES), test()).prop_map(|(name, test)| format!("`{name}` {test}"));
    comparison.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 2..4).prop_map(|parts| parts.join(" and ")),
            2 => vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" or "))),
            1 => inner.prop_map(|part| format!("not ({part})")),
        ]
    })
}
