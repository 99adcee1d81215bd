//! One column of a row group as it grows: which rows have a value, and the values, by growth or by dictionary.

use super::bits::width_of;
use super::delta::Deltas;
use super::dictionary::Dictionary;
use super::layout::{Kind, Layout};
use super::runs::Runs;
use super::thrift::put_struct;

const PLAIN: i32 = 0;
const RLE: i32 = 3;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// Key of what has no value.
pub(super) const NO_KEY: u32 = u32::MAX;

/// A column; its memory is kept from group to group, since fresh memory takes the machine longer than filling it.
pub(super) struct Column {
    layout: &'static Layout,
    rows: usize,
    levels: Runs,
    keys: Runs,
    pub(super) dictionary: Dictionary,
    deltas: Deltas,
}

/// What the footer says of a column.
pub(super) struct Chunk {
    pub(super) layout: &'static Layout,
    pub(super) encodings: Vec<i32>,
    pub(super) rows: usize,
    pub(super) bytes: usize,
    pub(super) data_at: usize,
    pub(super) dictionary_at: Option<usize>,
    /// The least and the greatest, of numbers that grow.
    pub(super) span: Option<(i64, i64)>,
}

impl Column {
    pub(super) fn new(layout: &'static Layout) -> Self {
        let (levels, keys) = (Runs::default(), Runs::default());
        Self { layout, rows: 0, levels, keys, dictionary: Dictionary::default(), deltas: Deltas::default() }
    }

    pub(super) const fn kind(&self) -> Kind {
        self.layout.kind
    }

    /// The next rows have no value.
    #[inline]
    pub(super) fn none(&mut self, count: usize) {
        self.rows += count;
        self.levels.push(0, count);
    }

    /// The next rows have the value with this key, or none if it is [`NO_KEY`].
    #[inline]
    pub(super) fn keyed(&mut self, key: u32, count: usize) {
        if key == NO_KEY {
            return self.none(count);
        }
        self.rows += count;
        self.levels.push(1, count);
        self.keys.push(key, count);
    }

    /// The next rows have the values with these keys, one each.
    #[inline]
    pub(super) fn keyed_each(&mut self, keys: &[u32]) {
        let first = keys.first().copied().unwrap_or(NO_KEY);
        let look = |(differ, missing), &key: &u32| (differ | key ^ first, missing | (key == NO_KEY));
        match keys.iter().fold((0, false), look) {
            (0, _) => self.keyed(first, keys.len()),
            (_, true) => keys.iter().for_each(|&key| self.keyed(key, 1)),
            (_, false) => {
                self.rows += keys.len();
                self.levels.push(1, keys.len());
                self.keys.push_each(keys);
            }
        }
    }

    /// The next rows have this name.
    pub(super) fn named(&mut self, name: &str, count: usize) {
        let key = self.dictionary.name(name);
        self.keyed(key, count);
    }

    /// The key of a number, by its bits.
    #[inline]
    pub(super) fn key(&mut self, bits: u64) -> u32 {
        let bytes = if matches!(self.layout.kind, Kind::Small | Kind::Int32) { 4 } else { 8 };
        self.dictionary.number(bits, bytes)
    }

    /// The next rows have the number with these bits.
    #[inline]
    pub(super) fn number(&mut self, bits: u64, count: usize) {
        let key = self.key(bits);
        self.keyed(key, count);
    }

    /// The next rows have these values.
    #[inline]
    pub(super) fn rise(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        self.rows += values.len();
        self.levels.push(1, values.len());
        self.deltas.extend(values);
    }

    /// The next row has this value, or none.
    #[inline]
    pub(super) fn rise_or_not(&mut self, value: Option<i64>) {
        match value {
            Some(value) => self.rise(std::iter::once(value)),
            None => self.none(1),
        }
    }

    /// Goes on from where another column is.
    pub(super) fn follow(&mut self, other: &Self) {
        self.rows = other.rows;
        self.levels.follow(&other.levels);
        self.deltas.follow(&other.deltas);
    }

    /// Appends the pages to a file of which `before` bytes are elsewhere; the column is empty then.
    pub(super) fn put(&mut self, out: &mut Vec<u8>, before: usize) -> Chunk {
        let start = out.len();
        let mut chunk = Chunk {
            layout: self.layout,
            encodings: Vec::new(),
            rows: self.rows,
            bytes: 0,
            data_at: 0,
            dictionary_at: None,
            span: self.deltas.span(),
        };
        let (mut head, mut keys) = (Vec::new(), Vec::new());
        if self.layout.is_nullable {
            put_levels(&mut head, &self.levels);
        }
        let encoding = if !self.keys.is_empty() {
            chunk.dictionary_at = Some(before + start);
            chunk.encodings.push(PLAIN);
            put_dictionary(out, &self.dictionary);
            let width = width_of(self.dictionary.len() as u64 - 1).max(1);
            head.push(width as u8);
            self.keys.put(&mut keys, width);
            RLE_DICTIONARY
        } else if chunk.span.is_some() {
            self.deltas.finish();
            chunk.span = self.deltas.span();
            self.deltas.put_header(&mut head);
            DELTA_BINARY_PACKED
        } else {
            PLAIN
        };
        chunk.data_at = before + out.len();
        chunk.encodings.extend([encoding, RLE]);
        put_data(out, encoding, self.rows, &[&head, &keys, self.deltas.packed()]);
        chunk.bytes = out.len() - start;
        self.clear();
        chunk
    }

    /// Forgets the rows.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.levels.clear();
        self.keys.clear();
        self.dictionary.clear();
        self.deltas.clear();
    }
}

/// Which rows have a value: a bit for each, after how many bytes they take.
fn put_levels(out: &mut Vec<u8>, levels: &Runs) {
    out.extend_from_slice(&[0; 4]);
    levels.put(out, 1);
    let length = out.len() as u32 - 4;
    out[..4].copy_from_slice(&length.to_le_bytes());
}

fn put_dictionary(out: &mut Vec<u8>, dictionary: &Dictionary) {
    let length = dictionary.plain().len() as i32;
    put_struct(out, |header| {
        header.i32(1, DICTIONARY_PAGE).i32(2, length).i32(3, length).inner(7, |page| {
            page.i32(1, dictionary.len() as i32).i32(2, PLAIN);
        });
    });
    out.extend_from_slice(dictionary.plain());
}

fn put_data(out: &mut Vec<u8>, encoding: i32, rows: usize, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    put_struct(out, |header| {
        header.i32(1, DATA_PAGE).i32(2, length as i32).i32(3, length as i32).inner(5, |page| {
            page.i32(1, rows as i32).i32(2, encoding).i32(3, RLE).i32(4, RLE);
        });
    });
    parts.iter().for_each(|part| out.extend_from_slice(part));
}
