//! How records that Arrow has already, as those of a simulation, go into the columns of a file.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StructArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType};

use super::column::{Column, NO_KEY};
use super::layout::Kind;
use super::runs::each_run;

/// Appends the rows of a batch.
pub(super) fn add(columns: &mut [Column], batch: &StructArray) -> Result<(), ArrowError> {
    columns.iter_mut().zip(batch.columns()).try_for_each(|(column, array)| add_array(column, array))
}

fn add_array(column: &mut Column, array: &ArrayRef) -> Result<(), ArrowError> {
    match array.data_type() {
        DataType::Int64 if column.kind() == Kind::Rising => rise(column, array.as_primitive()),
        DataType::Int8 => numbers::<Int8Type>(column, array, |value| i32::from(value) as u32 as u64),
        DataType::Int32 => numbers::<Int32Type>(column, array, |value| u64::from(value as u32)),
        DataType::Int64 => numbers::<Int64Type>(column, array, |value| value as u64),
        DataType::Float64 => numbers::<Float64Type>(column, array, f64::to_bits),
        DataType::Dictionary(key, _) if **key == DataType::Int8 => names::<Int8Type>(column, array),
        DataType::Dictionary(key, _) if **key == DataType::Int32 => names::<Int32Type>(column, array),
        other => return Err(ArrowError::NotYetImplemented(format!("a column of {other:?}"))),
    }
    Ok(())
}

fn rise(column: &mut Column, array: &PrimitiveArray<Int64Type>) {
    match array.null_count() {
        0 => column.rise(array.values().iter().copied()),
        _ => array.iter().for_each(|value| column.rise_or_not(value)),
    }
}

fn numbers<T: ArrowPrimitiveType>(column: &mut Column, array: &ArrayRef, bits: impl Fn(T::Native) -> u64) {
    each(array.as_primitive::<T>(), bits, |value, count| match value {
        Some(value) => column.number(value, count),
        None => column.none(count),
    });
}

/// Names have numbers already, other ones in each array.
fn names<K: ArrowDictionaryKeyType>(column: &mut Column, array: &ArrayRef) {
    let array = array.as_dictionary::<K>();
    let names = array.values().as_string::<i32>().iter();
    let keys: Vec<u32> = names.map(|name| column.dictionary.name(name.unwrap_or_default())).collect();
    each(array.keys(), ArrowNativeType::as_usize, |key, count| {
        column.keyed(key.and_then(|key| keys.get(key).copied()).unwrap_or(NO_KEY), count);
    });
}

/// Hands what each value is to `take`, and how often that comes in a row.
fn each<T: ArrowPrimitiveType, K: PartialEq + Copy>(
    array: &PrimitiveArray<T>,
    of: impl Fn(T::Native) -> K,
    mut take: impl FnMut(Option<K>, usize),
) {
    match array.null_count() {
        0 => each_run(array.values(), |&value| of(value), |value, count| take(Some(value), count)),
        nulls if nulls == array.len() => take(None, nulls),
        _ => array.iter().for_each(|value| take(value.map(&of), 1)),
    }
}
