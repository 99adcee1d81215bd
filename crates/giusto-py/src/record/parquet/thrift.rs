//! How the headers and the footer of a Parquet file are written: Thrift's compact protocol, as far as they need it.

const TRUE: u8 = 1;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Appends a number, seven bits at a time.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small numbers stay small, also negative ones.
pub(super) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The fields of one struct, in the order of their numbers; `end` completes it.
pub(super) struct Struct<'a> {
    out: &'a mut Vec<u8>,
    last: u8,
}

impl<'a> Struct<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, last: 0 }
    }

    fn field(&mut self, number: u8, kind: u8) -> &mut Vec<u8> {
        self.out.push((number - self.last) << 4 | kind);
        self.last = number;
        self.out
    }

    pub(super) fn i32(&mut self, number: u8, value: i32) -> &mut Self {
        put_varint(self.field(number, I32), zigzag(value.into()));
        self
    }

    pub(super) fn i64(&mut self, number: u8, value: i64) -> &mut Self {
        put_varint(self.field(number, I64), zigzag(value));
        self
    }

    pub(super) fn byte(&mut self, number: u8, value: u8) -> &mut Self {
        self.field(number, BYTE).push(value);
        self
    }

    pub(super) fn yes(&mut self, number: u8) -> &mut Self {
        self.field(number, TRUE);
        self
    }

    pub(super) fn bytes(&mut self, number: u8, value: &[u8]) -> &mut Self {
        put_bytes(self.field(number, BINARY), value);
        self
    }

    pub(super) fn inner(&mut self, number: u8, fill: impl FnOnce(&mut Struct<'_>)) -> &mut Self {
        put_struct(self.field(number, STRUCT), fill);
        self
    }

    pub(super) fn structs<T>(
        &mut self,
        number: u8,
        items: &[T],
        fill: impl Fn(&mut Struct<'_>, &T),
    ) -> &mut Self {
        let out = self.field(number, LIST);
        put_list_header(out, items.len(), STRUCT);
        items.iter().for_each(|item| put_struct(out, |inner| fill(inner, item)));
        self
    }

    pub(super) fn numbers(&mut self, number: u8, items: &[i32]) -> &mut Self {
        let out = self.field(number, LIST);
        put_list_header(out, items.len(), I32);
        items.iter().for_each(|&item| put_varint(out, zigzag(item.into())));
        self
    }

    pub(super) fn texts(&mut self, number: u8, items: &[&str]) -> &mut Self {
        let out = self.field(number, LIST);
        put_list_header(out, items.len(), BINARY);
        items.iter().for_each(|item| put_bytes(out, item.as_bytes()));
        self
    }
}

/// Appends a whole struct.
pub(super) fn put_struct(out: &mut Vec<u8>, fill: impl FnOnce(&mut Struct<'_>)) {
    fill(&mut Struct::new(out));
    out.push(0);
}

fn put_bytes(out: &mut Vec<u8>, value: &[u8]) {
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn put_list_header(out: &mut Vec<u8>, count: usize, kind: u8) {
    if count < 15 {
        out.push((count as u8) << 4 | kind);
    } else {
        out.push(0xf0 | kind);
        put_varint(out, count as u64);
    }
}
