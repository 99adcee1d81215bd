//! The filter language: what it means, what it refuses, and that it prints what it reads.

mod generate;

use std::collections::BTreeMap;

use generate::{event, filter_text};
use giusto_core::frame::attributes::{Attributes, Value, encode};
use giusto_core::matching::{Filter, FilterSyntax};
use proptest::prelude::*;

fn parse(text: &str) -> Filter {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> FilterSyntax {
    text.parse::<Filter>().expect_err(text)
}

fn matches(text: &str, values: &[(&str, Value)]) -> bool {
    let event: BTreeMap<String, Value> =
        values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut block = Vec::new();
    encode(&event, &mut block).unwrap();
    parse(text).matches(Attributes::decode(&block).unwrap())
}

fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}

fn texts(members: &[&str]) -> Value {
    Value::StringSet(members.iter().map(|&member| member.to_owned()).collect())
}

fn ints(members: &[i64]) -> Value {
    Value::IntSet(members.iter().copied().collect())
}

#[test]
fn the_stock_example_of_the_paper() {
    let filter = r#"symbol = "Legend" and change > 1"#;
    assert!(matches(filter, &[("symbol", text("Legend")), ("change", Value::Float(1.5))]));
    assert!(!matches(filter, &[("symbol", text("Legend")), ("change", Value::Int(1))]));
    assert!(!matches(filter, &[("symbol", text("Legend"))]));
}

#[test]
fn numbers_of_different_types_compare_exactly() {
    let beyond = (1i64 << 53) + 1;
    assert!(!matches("x = 9007199254740992", &[("x", Value::Int(beyond))]));
    assert!(!matches("x = 9007199254740993", &[("x", Value::Double(beyond as f64))]));
    assert!(matches("x < 9007199254740993", &[("x", Value::Double(beyond as f64))]));
    assert!(!matches("x = 0.1", &[("x", Value::Float(0.1))]));
    assert!(matches("x = 0.5", &[("x", Value::Float(0.5))]));
    assert!(matches("x > 1e308", &[("x", Value::Double(f64::INFINITY))]));
}

#[test]
fn a_missing_attribute_or_another_type_never_matches() {
    for filter in
        ["x != 1", "not x = 1", "x not in {1}", "not (x > 0 or x < 0)", r#"x != "a""#, "x not superset {1}"]
    {
        assert!(!matches(filter, &[("y", Value::Int(2))]), "{filter}");
        assert!(!matches(filter, &[("x", Value::Date(2))]), "{filter}");
    }
    assert!(matches("not x = 1", &[("x", Value::Int(2))]));
}

#[test]
fn parts_of_texts() {
    let x = [("x", text("Legend"))];
    for filter in
        [r#"x prefix "Leg""#, r#"x >* "Leg""#, r#"x suffix "end""#, r#"x <* "end""#, r#"x prefix """#]
    {
        assert!(matches(filter, &x), "{filter}");
    }
    assert!(matches(r#"x not prefix "end" and not x suffix "Leg""#, &x));
    assert!(matches(r#"x ∈ {"IBM", "Legend"} and x > "IBM" and x < "M""#, &x));
}

#[test]
fn sets() {
    let event = [("t", texts(&["a", "b"])), ("n", ints(&[1, 2])), ("e", texts(&[]))];
    for filter in [
        r#"t superset {"a"}"#,
        r#"t ⊇ {"b", "a"}"#,
        r#"t ⊆ {"a", "b", "c"}"#,
        r#"t = {"b", "a"} and t != {"a"}"#,
        "n subset {1, 2, 3} and n not subset {1}",
        "n superset {} and e = {} and e subset {1} and e superset {}",
        "e not superset {1}",
    ] {
        assert!(matches(filter, &event), "{filter}");
    }
    for filter in [r#"t superset {"c"}"#, "t superset {1}", "t not superset {1}", "n = {}", "e superset {1}"]
    {
        assert!(!matches(filter, &event), "{filter}");
    }
}

#[test]
fn dates() {
    let event = [("d", Value::Date(1_160_303_401_500_000_000))];
    assert!(matches(
        "d = @2006-10-08T10:30:01.5Z and d > @2006-10-08 and d in {@2006-10-08T10:30:01.5Z}",
        &event
    ));
    assert!(!matches("d > 0", &event));
}

#[test]
fn contradictions_are_accepted_and_never_match() {
    assert!(!matches("x < 1 and x > 2", &[("x", Value::Int(1))]));
}

#[test]
fn the_canonical_form() {
    for (given, canonical) in [
        ("x≤1.0", "x <= 1"),
        ("not (x<1 or not y=2)", "x >= 1 and y = 2"),
        ("a=1 and (b=2 and c=3)", "a = 1 and b = 2 and c = 3"),
        ("a=1 and (b=2 or c=3)", "a = 1 and (b = 2 or c = 3)"),
        ("a=1 AND b=2 OR c=3", "a = 1 and b = 2 or c = 3"),
        (r#"`in` ∈ {"b", "a", "b"}"#, r#"`in` in {"a", "b"}"#),
        (r#"a.b = "\u{1}\n\"é""#, r#"a.b = "\u{1}\n\"é""#),
        ("x != -1.5e300", "x != -1.5e300"),
        ("not t = {2,1}", "t != {1, 2}"),
        ("d<@1970-01-01T00:00Z", "d < @1970-01-01"),
    ] {
        assert_eq!(parse(given).canonical(), canonical, "{given}");
        assert_eq!(parse(canonical), parse(given));
    }
}

#[test]
fn problems_are_told_with_their_position() {
    for (filter, position, problem) in [
        ("x >", 3, "expected a value after '>'"),
        ("x > and y = 1", 4, "expected a value after '>'"),
        ("x = NaN", 4, "NaN is not a value"),
        ("x = true", 4, "true is not a value: use an Int or a String"),
        ("x = Legend", 4, "expected a value after '='; strings are written \"Legend\""),
        ("x lik 3", 2, "unknown operator 'lik'; did you mean 'prefix'?"),
        ("x prefx 3", 2, "unknown operator 'prefx'; did you mean 'prefix'?"),
        ("", 0, "expected an attribute, found the end of the filter"),
        ("x", 1, "expected an operator, found the end of the filter"),
        ("(x = 1", 0, "the closing ')' is missing"),
        ("x = 1)", 5, "this ')' closes nothing"),
        ("x = 1 y = 2", 6, "expected 'and', 'or' or the end of the filter"),
        ("é = \"a", 4, "the closing \" is missing"),
        (r#"x = "\q""#, 5, r#"unknown escape; use \" \\ \` \n \r \t or \u{1F600}"#),
        (
            "x = 9223372036854775808",
            4,
            "9223372036854775808 does not fit into an Int; write 9223372036854775808.0 for a Double",
        ),
        ("x = 1e999", 4, "1e999 does not fit into a Double"),
        ("x = 1x", 4, "1x is not a number"),
        ("x in {1, \"a\"}", 5, "a set holds values of one type"),
        ("x in {}", 5, "the set after 'in' needs at least one value"),
        ("x in 1", 5, "this operator needs a set: {1, 2}"),
        ("x prefix 1", 9, "prefix and suffix need a string"),
        ("x < {1}", 4, "sets have no order; use subset or superset"),
        ("x superset {1.5}", 11, "a set to compare with a set holds Int or String values"),
        ("x = @2006-13-01", 4, "a month is 01 to 12"),
        ("in = 1", 0, "expected an attribute; write `in` if that is its name"),
        ("x = 'a'", 4, r#"strings are written in double quotes: "…""#),
        ("x = 1 && y = 2", 6, "write 'and'"),
    ] {
        let error = refused(filter);
        assert_eq!((error.position, error.problem.as_str()), (position, problem), "{filter}");
    }
}

#[test]
fn limits_are_errors() {
    let deep = |levels: usize| format!("{}x = 1{}", "(".repeat(levels), ")".repeat(levels));
    assert!(deep(63).parse::<Filter>().is_ok());
    assert!(refused(&deep(64)).problem.contains("64 deep"));
    assert!(refused(&"not ".repeat(70)).problem.contains("64 deep"));
    let pairs: Vec<String> = (0..6).map(|i| format!("(a{i} = 1 or b{i} = 1)")).collect();
    assert_eq!(parse(&pairs[..5].join(" and ")).comparisons(), 160);
    assert!(refused(&pairs.join(" and ")).problem.contains("256 comparisons"));
    let many = |count: i32| (0..count).map(|i| format!("a{i} = 1")).collect::<Vec<_>>().join(" or ");
    assert_eq!(parse(&many(256)).comparisons(), 256);
    assert!(refused(&many(257)).problem.contains("256 comparisons"));
    let members = (0..64).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let sets =
        |count: i32| (0..count).map(|i| format!("a{i} in {{{members}}}")).collect::<Vec<_>>().join(" or ");
    assert_eq!(parse(&sets(32)).comparisons(), 32);
    assert!(refused(&sets(33)).problem.contains("2048 members"));
    let long_set = (0..9_000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    assert_eq!(parse(&format!("a in {{{long_set}}}")).comparisons(), 1);
    assert!(refused(&"x".repeat(65_537)).problem.contains("at most 65536 bytes"));
    let long: Vec<String> = (0..9000).map(|_| "a=1".to_owned()).collect();
    assert!(refused(&long.join(" or ")).problem.contains("in its canonical form"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]

    #[test]
    fn printing_and_reading_is_the_identity(text in filter_text()) {
        let filter = parse(&text);
        prop_assert_eq!(&parse(filter.canonical()), &filter);
    }

    #[test]
    fn a_filter_and_its_negation_never_both_match(text in filter_text(), block in event()) {
        let event = Attributes::decode(&block).unwrap();
        let negated = parse(&format!("not ({text})"));
        prop_assert!(!(parse(&text).matches(event) && negated.matches(event)));
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        let _ = text.parse::<Filter>();
    }

    #[test]
    fn any_tokens_are_read_or_refused(
        tokens in proptest::collection::vec(proptest::sample::select(TOKENS), 0..12)
    ) {
        if let Err(error) = tokens.join(" ").parse::<Filter>() {
            prop_assert!(error.position <= error.text.chars().count());
        }
    }
}

const TOKENS: &[&str] = &[
    "a",
    "`b`",
    "not",
    "and",
    "or",
    "(",
    ")",
    "{",
    "}",
    ",",
    "=",
    "<",
    ">*",
    "in",
    "prefix",
    "⊆",
    "1",
    "2.5",
    "@2006-10-08",
    "\"x\"",
    "-",
    "\\",
    "\"",
    "@",
    "1e5",
];
