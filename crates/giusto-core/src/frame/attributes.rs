//! The attribute block of a data frame: what content filters look at, `{(name, value)}` of S1 1.1.
//!
//! ```text
//! block  ┌───────┬───────────┬─────┬───────────┐      little endian, at most 65,536 bytes,
//!        │ count │ attribute │  …  │ attribute │      names strictly ascending in byte order
//!        │  u8   │           │     │           │
//!        └───────┴───────────┴─────┴───────────┘
//! attribute ┌────────┬──────────┬─────┬───────┐       name: UTF-8, 1 to 255 bytes
//!           │ length │   name   │ tag │ value │
//!           │   u8   │          │ u8  │       │
//!           └────────┴──────────┴─────┴───────┘
//! value  1 Int     i64
//!        2 Float   f32, never NaN
//!        3 Double  f64, never NaN
//!        4 String  u16 length, UTF-8
//!        5 Date    i64, nanoseconds since 1970-01-01T00:00:00Z
//!        6 Set     u16 length, then i64 …, strictly ascending
//!        7 Set     u16 length, then (u16 length, UTF-8) …, strictly ascending in byte order
//! ```
//!
//! A publisher encodes, which sorts and checks; [`Attributes::decode`] checks foreign bytes once,
//! and everything after that borrows from them.

use std::collections::{BTreeMap, BTreeSet};
use std::str;

use crate::error::Invalid;

/// More attributes than this do not fit into one block.
pub const ATTRIBUTES_MAX: usize = 255;
/// A longer block is refused on both sides.
pub const BLOCK_BYTES_MAX: usize = 65_536;

const INT: u8 = 1;
const FLOAT: u8 = 2;
const DOUBLE: u8 = 3;
const STRING: u8 = 4;
const DATE: u8 = 5;
const INT_SET: u8 = 6;
const STRING_SET: u8 = 7;

/// A value as a publisher gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A number in single precision.
    Float(f32),
    /// A number in double precision.
    Double(f64),
    /// Text.
    String(String),
    /// Nanoseconds since 1970 UTC.
    Date(i64),
    /// A set of whole numbers.
    IntSet(BTreeSet<i64>),
    /// A set of texts.
    StringSet(BTreeSet<String>),
}

/// A value inside a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// A whole number.
    Int(i64),
    /// A number in single precision.
    Float(f32),
    /// A number in double precision.
    Double(f64),
    /// Text.
    String(&'a str),
    /// Nanoseconds since 1970 UTC.
    Date(i64),
    /// A set of whole numbers.
    IntSet(IntSet<'a>),
    /// A set of texts.
    StringSet(StringSet<'a>),
}

impl ValueRef<'_> {
    /// The same value, no longer borrowed.
    pub fn to_value(&self) -> Value {
        match *self {
            Self::Int(value) => Value::Int(value),
            Self::Float(value) => Value::Float(value),
            Self::Double(value) => Value::Double(value),
            Self::String(value) => Value::String(value.to_owned()),
            Self::Date(value) => Value::Date(value),
            Self::IntSet(set) => Value::IntSet(set.iter().collect()),
            Self::StringSet(set) => Value::StringSet(
                set.iter().map(|member| String::from_utf8_lossy(member).into_owned()).collect(),
            ),
        }
    }
}

/// A set of whole numbers inside a block, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntSet<'a>(&'a [u8]);

impl<'a> IntSet<'a> {
    /// The members, ascending.
    pub fn iter(self) -> impl Iterator<Item = i64> + 'a {
        self.0.chunks_exact(8).map(i64_le)
    }
}

/// A set of texts inside a block, ascending in byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringSet<'a>(&'a [u8]);

impl<'a> StringSet<'a> {
    /// The members (UTF-8), ascending.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let mut reader = Reader { rest: self.0, offset: 0 };
        std::iter::from_fn(move || if reader.rest.is_empty() { None } else { reader.counted().ok() })
    }
}

/// Bytes that are not an attribute block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {offset} of the attribute block")]
pub struct BlockError {
    /// What is wrong.
    pub problem: &'static str,
    /// Where, counted from the start of the block.
    pub offset: usize,
}

/// A block that was checked as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Attributes<'a> {
    body: &'a [u8],
}

/// One attribute of a checked block, its value not yet looked at.
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    name: &'a [u8],
    tag: u8,
    body: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Checks every byte of `block`; no bytes at all mean no attributes. Copies nothing.
    pub fn decode(block: &'a [u8]) -> Result<Self, BlockError> {
        if block.len() > BLOCK_BYTES_MAX {
            return Err(BlockError {
                problem: "the block is longer than 65536 bytes",
                offset: BLOCK_BYTES_MAX,
            });
        }
        let Some((&count, body)) = block.split_first() else { return Ok(Self::default()) };
        let mut reader = Reader { rest: body, offset: 1 };
        let mut previous: &[u8] = &[];
        for _ in 0..count {
            let offset = reader.offset;
            let attribute = reader.attribute()?;
            if attribute.name <= previous {
                let problem =
                    if attribute.name.is_empty() { "a name is empty" } else { "names are not ascending" };
                return Err(BlockError { problem, offset });
            }
            attribute.check(offset)?;
            previous = attribute.name;
        }
        match reader.rest {
            [] => Ok(Self { body }),
            _ => Err(BlockError { problem: "bytes after the last attribute", offset: reader.offset }),
        }
    }

    /// The attributes, ascending by name.
    pub fn iter(self) -> impl Iterator<Item = Attribute<'a>> {
        let mut reader = Reader { rest: self.body, offset: 1 };
        std::iter::from_fn(move || if reader.rest.is_empty() { None } else { reader.attribute().ok() })
    }

    /// The value called `name`.
    pub fn find(self, name: &str) -> Option<ValueRef<'a>> {
        let sought = name.as_bytes();
        self.iter().take_while(|a| a.name <= sought).find(|a| a.name == sought).map(|a| a.value())
    }
}

impl<'a> Attribute<'a> {
    /// The name in UTF-8.
    pub fn name(&self) -> &'a [u8] {
        self.name
    }

    /// The value.
    pub fn value(&self) -> ValueRef<'a> {
        match self.tag {
            INT => ValueRef::Int(i64_le(self.body)),
            FLOAT => ValueRef::Float(f32_le(self.body)),
            DOUBLE => ValueRef::Double(f64::from_bits(i64_le(self.body) as u64)),
            STRING => ValueRef::String(str::from_utf8(self.body).unwrap_or_default()),
            DATE => ValueRef::Date(i64_le(self.body)),
            INT_SET => ValueRef::IntSet(IntSet(self.body)),
            _ => ValueRef::StringSet(StringSet(self.body)),
        }
    }

    fn check(&self, offset: usize) -> Result<(), BlockError> {
        let fail = |problem| Err(BlockError { problem, offset });
        if str::from_utf8(self.name).is_err() {
            return fail("a name is not UTF-8");
        }
        match self.tag {
            FLOAT if f32_le(self.body).is_nan() => fail("NaN is not a value"),
            DOUBLE if f64::from_bits(i64_le(self.body) as u64).is_nan() => fail("NaN is not a value"),
            STRING if str::from_utf8(self.body).is_err() => fail("a string is not UTF-8"),
            INT_SET if self.body.len() % 8 != 0 => fail("a set of numbers is cut short"),
            INT_SET if !IntSet(self.body).iter().is_sorted_by(|a, b| a < b) => fail("a set is not ascending"),
            STRING_SET => self.check_strings(offset),
            _ => Ok(()),
        }
    }

    fn check_strings(&self, offset: usize) -> Result<(), BlockError> {
        let mut reader = Reader { rest: self.body, offset };
        let mut previous: Option<&[u8]> = None;
        while !reader.rest.is_empty() {
            let at = reader.offset;
            let member = reader.counted()?;
            if str::from_utf8(member).is_err() {
                return Err(BlockError { problem: "a string is not UTF-8", offset: at });
            }
            if previous.is_some_and(|previous| member <= previous) {
                return Err(BlockError { problem: "a set is not ascending", offset: at });
            }
            previous = Some(member);
        }
        Ok(())
    }
}

/// What is left of the bytes, and where it begins.
struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], BlockError> {
        let Some((head, rest)) = self.rest.split_at_checked(count) else {
            return Err(BlockError { problem: "the block is cut short", offset: self.offset });
        };
        self.rest = rest;
        self.offset += count;
        Ok(head)
    }

    fn byte(&mut self) -> Result<u8, BlockError> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn counted(&mut self) -> Result<&'a [u8], BlockError> {
        let length = match self.take(2)? {
            &[low, high] => u16::from_le_bytes([low, high]),
            _ => 0,
        };
        self.take(usize::from(length))
    }

    fn attribute(&mut self) -> Result<Attribute<'a>, BlockError> {
        let length = self.byte()?;
        let name = self.take(usize::from(length))?;
        let tag = self.byte()?;
        let body = match tag {
            INT | DOUBLE | DATE => self.take(8)?,
            FLOAT => self.take(4)?,
            STRING | INT_SET | STRING_SET => self.counted()?,
            _ => return Err(BlockError { problem: "unknown type of value", offset: self.offset - 1 }),
        };
        Ok(Attribute { name, tag, body })
    }
}

fn i64_le(bytes: &[u8]) -> i64 {
    bytes.first_chunk().copied().map_or(0, i64::from_le_bytes)
}

fn f32_le(bytes: &[u8]) -> f32 {
    bytes.first_chunk().copied().map_or(0.0, f32::from_le_bytes)
}

/// Appends the block of `attributes` to `out`; on an error `out` is as before.
pub fn encode(attributes: &BTreeMap<String, Value>, out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    let result = write_block(attributes, out).and_then(|()| match out.len() - start {
        0..=BLOCK_BYTES_MAX => Ok(()),
        long => Err(Invalid::new("attributes", format!("{long} bytes"), "at most 65536 bytes")),
    });
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn write_block(attributes: &BTreeMap<String, Value>, out: &mut Vec<u8>) -> Result<(), Invalid> {
    let count = u8::try_from(attributes.len())
        .map_err(|_| Invalid::new("attributes", attributes.len(), "at most 255 attributes"))?;
    out.push(count);
    for (name, value) in attributes {
        match u8::try_from(name.len()) {
            Ok(length @ 1..) => out.push(length),
            _ => return Err(Invalid::new("attribute name", name, "1 to 255 bytes")),
        }
        out.extend_from_slice(name.as_bytes());
        write_value(name, value, out)?;
    }
    Ok(())
}

fn write_value(name: &str, value: &Value, out: &mut Vec<u8>) -> Result<(), Invalid> {
    let nan = || Invalid::new(format!("attributes[{name:?}]"), "NaN", "a number");
    match value {
        Value::Int(value) => tagged(INT, &value.to_le_bytes(), out),
        Value::Float(value) if value.is_nan() => return Err(nan()),
        Value::Float(value) => tagged(FLOAT, &value.to_le_bytes(), out),
        Value::Double(value) if value.is_nan() => return Err(nan()),
        Value::Double(value) => tagged(DOUBLE, &value.to_le_bytes(), out),
        Value::Date(value) => tagged(DATE, &value.to_le_bytes(), out),
        Value::String(value) => {
            out.push(STRING);
            write_counted(name, out, |out| out.extend_from_slice(value.as_bytes()))?;
        }
        Value::IntSet(set) => {
            out.push(INT_SET);
            write_counted(name, out, |out| set.iter().for_each(|member| out.extend(member.to_le_bytes())))?;
        }
        Value::StringSet(set) => {
            out.push(STRING_SET);
            write_counted(name, out, |out| set.iter().for_each(|member| write_member(member, out)))?;
        }
    }
    Ok(())
}

fn tagged(tag: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(body);
}

/// A member too long for its length field makes the whole set too long, which is refused.
fn write_member(member: &str, out: &mut Vec<u8>) {
    out.extend((member.len() as u16).to_le_bytes());
    out.extend_from_slice(member.as_bytes());
}

fn write_counted(name: &str, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Invalid> {
    let start = out.len();
    out.extend([0, 0]);
    write(out);
    let length = out.len() - start - 2;
    let Ok(short) = u16::try_from(length) else {
        let field = format!("attributes[{name:?}]");
        return Err(Invalid::new(field, format!("{length} bytes"), "at most 65535 bytes"));
    };
    if let Some(field) = out.get_mut(start..start + 2) {
        field.copy_from_slice(&short.to_le_bytes());
    }
    Ok(())
}
