//! One column of a row group: which rows have a value, and the values, by growth or by dictionary.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType};

use super::delta::put_deltas;
use super::dictionary::Dictionary;
use super::runs::{Runs, each_run};
use super::thrift::put_struct;

const PLAIN: i32 = 0;
const RLE: i32 = 3;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// The pages of a column, and what the footer says of them.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    pub(super) encodings: Vec<i32>,
    pub(super) rows: usize,
    /// Where the page of values begins.
    pub(super) data_at: usize,
    /// The least and the greatest, of numbers that grow and are all there.
    pub(super) span: Option<(i64, i64)>,
}

/// Makes a chunk of the arrays of one column, one after the other; `rising` is memory for values that grow.
pub(super) fn chunk(
    arrays: &[ArrayRef],
    is_nullable: bool,
    rising: Option<&mut Vec<i64>>,
) -> Result<Chunk, ArrowError> {
    let mut chunk = Chunk { rows: arrays.iter().map(|array| array.len()).sum(), ..Chunk::default() };
    let mut body = Vec::new();
    if is_nullable {
        put_levels(&mut body, arrays);
    }
    let is_empty = arrays.iter().all(|array| array.null_count() == array.len());
    let encoding = if is_empty {
        PLAIN
    } else if let Some(values) = rising {
        values.clear();
        arrays.iter().for_each(|array| gather(array.as_primitive(), values));
        chunk.span = values.iter().copied().min().zip(values.iter().copied().max());
        put_deltas(&mut body, values);
        DELTA_BINARY_PACKED
    } else {
        let (count, values) = by_dictionary(arrays, &mut body)?;
        chunk.put_dictionary(count, &values);
        RLE_DICTIONARY
    };
    chunk.put_data(encoding, &body);
    Ok(chunk)
}

impl Chunk {
    fn put_dictionary(&mut self, count: usize, values: &[u8]) {
        put_struct(&mut self.bytes, |header| {
            header.i32(1, DICTIONARY_PAGE).i32(2, values.len() as i32).i32(3, values.len() as i32);
            header.inner(7, |page| {
                page.i32(1, count as i32).i32(2, PLAIN);
            });
        });
        self.bytes.extend_from_slice(values);
        self.encodings.push(PLAIN);
    }

    fn put_data(&mut self, encoding: i32, body: &[u8]) {
        self.data_at = self.bytes.len();
        put_struct(&mut self.bytes, |header| {
            header.i32(1, DATA_PAGE).i32(2, body.len() as i32).i32(3, body.len() as i32);
            header.inner(5, |page| {
                page.i32(1, self.rows as i32).i32(2, encoding).i32(3, RLE).i32(4, RLE);
            });
        });
        self.bytes.extend_from_slice(body);
        self.encodings.extend([encoding, RLE]);
    }
}

/// Which rows have a value: a bit for each, after how many bytes they take.
fn put_levels(body: &mut Vec<u8>, arrays: &[ArrayRef]) {
    let mut runs = Runs::default();
    for array in arrays {
        match array.nulls() {
            None => runs.push(1, array.len()),
            Some(nulls) if nulls.null_count() == nulls.len() => runs.push(0, array.len()),
            Some(nulls) => nulls.iter().for_each(|is_there| runs.push(is_there.into(), 1)),
        }
    }
    let mut levels = Vec::new();
    runs.put(&mut levels, 1);
    body.extend_from_slice(&(levels.len() as u32).to_le_bytes());
    body.extend_from_slice(&levels);
}

/// Appends the values that are there.
fn gather(array: &PrimitiveArray<Int64Type>, values: &mut Vec<i64>) {
    match array.null_count() {
        0 => values.extend_from_slice(array.values()),
        _ => values.extend(array.iter().flatten()),
    }
}

/// Hands what each value is that is there to `take`, and how often that comes in a row.
#[inline]
fn each<T: ArrowPrimitiveType, K: PartialEq + Copy>(
    array: &PrimitiveArray<T>,
    of: impl Fn(T::Native) -> K,
    mut take: impl FnMut(K, usize),
) {
    match array.null_count() {
        0 => each_run(array.values(), of, take),
        _ => array.iter().flatten().for_each(|value| take(of(value), 1)),
    }
}

/// Appends which value each row has; returns how many different ones there are, and these.
fn by_dictionary(arrays: &[ArrayRef], body: &mut Vec<u8>) -> Result<(usize, Vec<u8>), ArrowError> {
    match arrays.first().map(|array| array.data_type()) {
        Some(DataType::Int8) => {
            Ok(numbers::<Int8Type, 4>(arrays, body, |value| i32::from(value).to_le_bytes()))
        }
        Some(DataType::Int32) => Ok(numbers::<Int32Type, 4>(arrays, body, i32::to_le_bytes)),
        Some(DataType::Int64) => Ok(numbers::<Int64Type, 8>(arrays, body, i64::to_le_bytes)),
        Some(DataType::Float64) => Ok(numbers::<Float64Type, 8>(arrays, body, f64::to_le_bytes)),
        Some(DataType::Dictionary(key, _)) if **key == DataType::Int8 => Ok(names::<Int8Type>(arrays, body)),
        Some(DataType::Dictionary(key, _)) if **key == DataType::Int32 => {
            Ok(names::<Int32Type>(arrays, body))
        }
        other => Err(ArrowError::NotYetImplemented(format!("a column of {other:?}"))),
    }
}

/// Numbers are the same if all their bytes are.
fn numbers<T: ArrowPrimitiveType, const N: usize>(
    arrays: &[ArrayRef],
    body: &mut Vec<u8>,
    bytes: impl Fn(T::Native) -> [u8; N],
) -> (usize, Vec<u8>) {
    let mut found = Dictionary::new();
    for array in arrays {
        each(array.as_primitive::<T>(), &bytes, |value, count| found.push(value, count));
    }
    found.put_keys(body);
    (found.values.len(), found.values.concat())
}

/// Names have numbers already, other ones in each array.
fn names<K: ArrowDictionaryKeyType>(arrays: &[ArrayRef], body: &mut Vec<u8>) -> (usize, Vec<u8>) {
    let mut found = Dictionary::new();
    for array in arrays {
        let array = array.as_dictionary::<K>();
        let names = array.values().as_string::<i32>().iter();
        let keys: Vec<u32> = names.map(|name| found.key(name.unwrap_or_default())).collect();
        each(array.keys(), ArrowNativeType::as_usize, |key, count| {
            keys.get(key).into_iter().for_each(|&key| found.push_key(key, count));
        });
    }
    found.put_keys(body);
    let put = |mut all: Vec<u8>, name: &&str| {
        all.extend_from_slice(&(name.len() as u32).to_le_bytes());
        all.extend_from_slice(name.as_bytes());
        all
    };
    (found.values.len(), found.values.iter().fold(Vec::new(), put))
}
