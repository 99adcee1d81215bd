//! Numbers of three types as one ordered type: Int, Float and Double compare exactly, without rounding.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// 2^63: the first Double above every Int, and (negated) the least Int.
const INT_END: f64 = 9_223_372_036_854_775_808.0;

/// A number in canonical form: whole numbers that fit are `Int`, so equal numbers are equal values.
#[derive(Clone, Copy, Debug)]
pub struct Number(Form);

#[derive(Clone, Copy, Debug)]
enum Form {
    Int(i64),
    /// Not NaN, and not a whole number that fits into an i64.
    Double(f64),
}

impl Number {
    /// A whole number.
    pub const fn int(value: i64) -> Self {
        Self(Form::Int(value))
    }

    /// `None` for NaN. A Float widens to a Double exactly.
    pub fn double(value: f64) -> Option<Self> {
        if value.is_nan() {
            return None;
        }
        let whole = value.trunc() == value && (-INT_END..INT_END).contains(&value);
        Some(Self(if whole { Form::Int(value as i64) } else { Form::Double(value) }))
    }

    /// The number, if it is an Int.
    pub fn as_int(self) -> Option<i64> {
        match self.0 {
            Form::Int(value) => Some(value),
            Form::Double(_) => None,
        }
    }
}

/// `double` is canonical, so it never equals `int`.
fn compare_mixed(int: i64, double: f64) -> Ordering {
    if double >= INT_END {
        Ordering::Less
    } else if double < -INT_END || int > double.floor() as i64 {
        Ordering::Greater
    } else {
        Ordering::Less
    }
}

impl Ord for Number {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Form::Int(a), Form::Int(b)) => a.cmp(&b),
            (Form::Double(a), Form::Double(b)) => a.total_cmp(&b),
            (Form::Int(a), Form::Double(b)) => compare_mixed(a, b),
            (Form::Double(a), Form::Int(b)) => compare_mixed(b, a).reverse(),
        }
    }
}

impl PartialOrd for Number {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Form::Int(value) => state.write_u64(value as u64),
            Form::Double(value) => state.write_u64(!value.to_bits()),
        }
    }
}

/// Prints what the filter language reads back as the same number.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Form::Int(value) => write!(f, "{value}"),
            Form::Double(value) => write!(f, "{value:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: f64) -> Number {
        Number::double(value).unwrap()
    }

    #[test]
    fn equal_numbers_of_different_types_are_equal() {
        assert_eq!(double(3.0), Number::int(3));
        assert_eq!(double(-0.0), Number::int(0));
        assert_eq!(double(-INT_END), Number::int(i64::MIN));
        assert!(Number::double(f64::NAN).is_none());
    }

    #[test]
    fn an_int_is_not_rounded_before_it_is_compared() {
        let above = (1i64 << 53) + 1;
        assert!(Number::int(above) > double((1i64 << 53) as f64));
        assert!(Number::int(i64::MAX) < double(INT_END));
        assert!(Number::int(i64::MIN) > double(f64::NEG_INFINITY));
        assert!(Number::int(-1) < double(-0.5) && double(-0.5) < Number::int(0));
        assert!(Number::int(2) < double(2.5) && double(2.5) < Number::int(3));
    }

    #[test]
    fn the_order_is_that_of_the_numbers() {
        let ascending = [
            double(f64::NEG_INFINITY),
            double(-1e300),
            Number::int(i64::MIN),
            double(-1.5),
            Number::int(-1),
            double(-5e-324),
            Number::int(0),
            double(5e-324),
            double(0.1f32 as f64),
            Number::int(1),
            Number::int(i64::MAX),
            double(INT_END),
            double(f64::INFINITY),
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a} against {b}");
            }
        }
    }
}
