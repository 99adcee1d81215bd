//! Whether any bytes that are taken for an attribute block are the one way to write its values.

use std::collections::BTreeMap;

use giusto_core::frame::attributes::{Attributes, Value, encode};

/// Panics if a block is accepted that a publisher would have written otherwise.
pub fn check(block: &[u8]) {
    match Attributes::decode(block) {
        Ok(attributes) => check_block(attributes, block),
        Err(error) => assert!(error.offset <= block.len()),
    }
}

fn check_block(attributes: Attributes<'_>, block: &[u8]) {
    let values = values(attributes);
    for name in values.keys() {
        assert!(attributes.find(name).is_some());
    }
    let mut again = Vec::new();
    encode(&values, &mut again).expect("what was decoded can be encoded");
    // No bytes at all mean the same as a block with nothing in it.
    assert!(block.is_empty() || again == block);
}

fn values(attributes: Attributes<'_>) -> BTreeMap<String, Value> {
    let name = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a name is text");
    attributes.iter().map(|one| (name(one.name()), one.value().to_value())).collect()
}
