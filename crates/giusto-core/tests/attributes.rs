//! The attribute block: what is encoded comes back, and no bytes whatever do harm.

use std::collections::{BTreeMap, BTreeSet};

use giusto_core::frame::attributes::{Attributes, Value, encode};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<f32>().prop_filter("NaN", |v| !v.is_nan()).prop_map(Value::Float),
        any::<f64>().prop_filter("NaN", |v| !v.is_nan()).prop_map(Value::Double),
        ".{0,12}".prop_map(Value::String),
        any::<i64>().prop_map(Value::Date),
        btree_set(any::<i64>(), 0..5).prop_map(Value::IntSet),
        btree_set(".{0,4}", 0..5).prop_map(Value::StringSet),
    ]
}

fn attributes() -> impl Strategy<Value = BTreeMap<String, Value>> {
    btree_map(".{1,8}", value(), 0..8)
}

fn block(attributes: &BTreeMap<String, Value>) -> Vec<u8> {
    let mut out = Vec::new();
    encode(attributes, &mut out).unwrap();
    out
}

fn one(name: &str, value: Value) -> BTreeMap<String, Value> {
    BTreeMap::from([(name.to_owned(), value)])
}

proptest! {
    #[test]
    fn decoding_gives_back_what_was_encoded(given in attributes()) {
        let bytes = block(&given);
        let decoded = Attributes::decode(&bytes).unwrap();
        let names: Vec<Vec<u8>> = decoded.iter().map(|attribute| attribute.name().to_vec()).collect();
        prop_assert!(names.is_sorted());
        prop_assert_eq!(names.len(), given.len());
        for (name, value) in &given {
            prop_assert_eq!(&decoded.find(name).unwrap().to_value(), value);
        }
        prop_assert!(decoded.find("no such attribute").is_none());
    }

    #[test]
    fn a_block_that_is_cut_anywhere_is_refused(given in attributes()) {
        let bytes = block(&given);
        for length in 1..bytes.len() {
            prop_assert!(Attributes::decode(&bytes[..length]).is_err());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        prop_assert!(Attributes::decode(&longer).is_err());
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(attributes) = Attributes::decode(&bytes) {
            let copy: BTreeMap<String, Value> = attributes
                .iter()
                .map(|a| (String::from_utf8(a.name().to_vec()).unwrap(), a.value().to_value()))
                .collect();
            let again = block(&copy);
            prop_assert!(bytes.is_empty() || again == bytes, "one value has one encoding");
        }
    }

    #[test]
    fn one_changed_byte_gives_an_error_or_another_block(
        given in attributes(), at: prop::sample::Index, byte: u8,
    ) {
        let mut bytes = block(&given);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(attributes) = Attributes::decode(&bytes) {
            attributes.iter().for_each(|attribute| { attribute.value().to_value(); });
        }
    }
}

#[test]
fn nan_is_refused_with_the_name_of_the_attribute() {
    for value in [Value::Double(f64::NAN), Value::Float(f32::NAN)] {
        let mut out = vec![1, 2, 3];
        let refused = encode(&one("price", value), &mut out).unwrap_err();
        assert_eq!((refused.field.as_str(), refused.value.as_str()), (r#"attributes["price"]"#, "NaN"));
        assert_eq!(out, [1, 2, 3], "what was there before stays as it was");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut out = Vec::new();
    let many = (0..256).map(|i| (format!("a{i}"), Value::Int(i))).collect();
    assert_eq!(encode(&many, &mut out).unwrap_err().field, "attributes");
    assert_eq!(encode(&one("", Value::Int(1)), &mut out).unwrap_err().field, "attribute name");
    assert!(encode(&one(&"n".repeat(256), Value::Int(1)), &mut out).is_err());
    assert!(encode(&one("s", Value::String("x".repeat(65_536))), &mut out).is_err());
    let set = BTreeSet::from(["x".repeat(70_000)]);
    assert!(encode(&one("s", Value::StringSet(set)), &mut out).is_err());
    let two = ["a", "b"].map(|name| (name.to_owned(), Value::String("x".repeat(40_000))));
    assert_eq!(encode(&two.into(), &mut out).unwrap_err().expected, "at most 65536 bytes");
    assert!(out.is_empty());
}
