//! What the end of a file says: its columns, where each is in each group, and what the writer said of it.

use super::column::Chunk;
use super::layout::{COLUMNS, Kind, Layout};
use super::thrift::{Struct, put_struct};

const INT32: i32 = 1;
const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const UTF8: i32 = 0;
const INT_8: i32 = 15;
const WRITER: &str = concat!("giusto ", env!("CARGO_PKG_VERSION"));

/// Rows that were written at once.
pub(super) struct Group {
    pub(super) rows: usize,
    pub(super) chunks: Vec<Chunk>,
}

impl Layout {
    const fn physical(&self) -> i32 {
        match self.kind {
            Kind::Small | Kind::Int32 => INT32,
            Kind::Int64 | Kind::Rising => INT64,
            Kind::Float64 => DOUBLE,
            Kind::Name => BYTE_ARRAY,
        }
    }

    fn put_schema(&self, element: &mut Struct<'_>) {
        let repetition = if self.is_nullable { OPTIONAL } else { REQUIRED };
        element.i32(1, self.physical()).i32(3, repetition).bytes(4, self.name.as_bytes());
        if self.kind == Kind::Name {
            element.i32(6, UTF8).inner(10, |logical| {
                logical.inner(1, |_| {});
            });
        } else if self.kind == Kind::Small {
            element.i32(6, INT_8).inner(10, |logical| {
                logical.inner(10, |integer| {
                    integer.byte(1, 8).yes(2);
                });
            });
        }
    }
}

impl Chunk {
    fn put_chunk(&self, chunk: &mut Struct<'_>) {
        chunk.i64(2, 0).inner(3, |metadata| {
            metadata.i32(1, self.layout.physical()).numbers(2, &self.encodings);
            metadata.texts(3, &[self.layout.name]).i32(4, 0);
            metadata.i64(5, self.rows as i64).i64(6, self.bytes as i64).i64(7, self.bytes as i64);
            metadata.i64(9, self.data_at as i64);
            if let Some(at) = self.dictionary_at {
                metadata.i64(11, at as i64);
            }
            if let Some((least, greatest)) = self.span {
                metadata.inner(12, |statistics| {
                    statistics.bytes(5, &greatest.to_le_bytes()).bytes(6, &least.to_le_bytes());
                });
            }
        });
    }
}

/// Appends the footer, without its length.
pub(super) fn put_footer(out: &mut Vec<u8>, rows: usize, groups: &[Group], said: &[(String, String)]) {
    let mut schema: Vec<Option<&Layout>> = vec![None];
    schema.extend(COLUMNS.iter().map(Some));
    put_struct(out, |file| {
        file.i32(1, 2).structs(2, &schema, |element, column| match column {
            Some(column) => column.put_schema(element),
            None => {
                element.i32(3, REQUIRED).bytes(4, b"schema").i32(5, COLUMNS.len() as i32);
            }
        });
        file.i64(3, rows as i64).structs(4, groups, |inner, group| {
            let bytes: usize = group.chunks.iter().map(|chunk| chunk.bytes).sum();
            inner.structs(1, &group.chunks, |inner, chunk| chunk.put_chunk(inner));
            inner.i64(2, bytes as i64).i64(3, group.rows as i64);
        });
        file.structs(5, said, |pair, (key, value)| {
            pair.bytes(1, key.as_bytes()).bytes(2, value.as_bytes());
        });
        file.bytes(6, WRITER.as_bytes()).structs(7, COLUMNS, |order, _| {
            order.inner(1, |_| {});
        });
    });
}
