//! Dates as the filter language writes them: `2006-10-08`, `2006-10-08T10:30:01.5Z`, always UTC.

use std::fmt;

const DAY_NS: i64 = 86_400_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// Prints nanoseconds since 1970 UTC in the shortest form that reads back as the same instant.
pub struct Date(pub i64);

/// Days from 1970-01-01 to the first day of `year`, proleptic Gregorian.
fn days_before_year(year: i64) -> i64 {
    let past = year - 1;
    365 * (year - 1970) + (past.div_euclid(4) - 492) - (past.div_euclid(100) - 19)
        + (past.div_euclid(400) - 4)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn month_lengths(year: i64) -> [i64; 12] {
    [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

/// Nanoseconds since 1970 UTC, or what is wrong with `text`.
pub fn parse(text: &str) -> Result<i64, &'static str> {
    let (day, time) = match text.split_once('T') {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let days = parse_day(day)?;
    let ns = time.map_or(Ok(0), parse_time)?;
    // In 128 bits: the first day that fits begins before the first instant that fits.
    let total_ns = i128::from(days) * i128::from(DAY_NS) + i128::from(ns);
    i64::try_from(total_ns).map_err(|_| "a date must lie between 1677-09-22 and 2262-04-11")
}

fn parse_day(text: &str) -> Result<i64, &'static str> {
    const SHAPE: &str = "a date is written @2006-10-08 or @2006-10-08T10:30:01.5Z";
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(SHAPE);
    };
    let year = digits(year, 4).ok_or(SHAPE)?;
    let month = digits(month, 2).ok_or(SHAPE)?;
    let day = digits(day, 2).ok_or(SHAPE)?;
    let lengths = month_lengths(year);
    let before = usize::try_from(month - 1).ok().filter(|&m| m < 12).ok_or("a month is 01 to 12")?;
    if day < 1 || lengths.get(before).is_none_or(|&length| day > length) {
        return Err("the month has no such day");
    }
    Ok(days_before_year(year) + lengths.iter().take(before).sum::<i64>() + day - 1)
}

fn parse_time(text: &str) -> Result<i64, &'static str> {
    const SHAPE: &str = "a time is written 10:30, 10:30:01 or 10:30:01.5 and ends with Z (UTC)";
    let text = text.strip_suffix('Z').ok_or(SHAPE)?;
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let hour = parts.next().and_then(|part| digits(part, 2)).ok_or(SHAPE)?;
    let minute = parts.next().and_then(|part| digits(part, 2)).ok_or(SHAPE)?;
    let second = parts.next().map_or(Some(0), |part| digits(part, 2)).ok_or(SHAPE)?;
    let broken = text.contains('.') && (clock.len() != 8 || fraction.is_empty() || fraction.len() > 9);
    if parts.next().is_some() || broken {
        return Err(SHAPE);
    }
    if hour > 23 || minute > 59 || second > 59 {
        return Err("a time lies between 00:00:00 and 23:59:59.999999999");
    }
    let ns = digits(&format!("{fraction:0<9}"), 9).ok_or(SHAPE)?;
    Ok(((hour * 60 + minute) * 60 + second) * SECOND_NS + ns)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ns) = (self.0.div_euclid(DAY_NS), self.0.rem_euclid(DAY_NS));
        let (year, month, day) = civil(days);
        write!(f, "{year:04}-{month:02}-{day:02}")?;
        if ns == 0 {
            return Ok(());
        }
        let (second, fraction) = (ns / SECOND_NS, ns % SECOND_NS);
        write!(f, "T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)?;
        if fraction != 0 {
            write!(f, ".{}", format!("{fraction:09}").trim_end_matches('0'))?;
        }
        write!(f, "Z")
    }
}

fn civil(days: i64) -> (i64, i64, i64) {
    // 400 Gregorian years are 146,097 days; the guess is at most one year off.
    let mut year = 1970 + (days * 400).div_euclid(146_097);
    while days_before_year(year) > days {
        year -= 1;
    }
    while days_before_year(year + 1) <= days {
        year += 1;
    }
    let mut day = days - days_before_year(year);
    let mut month = 1;
    for length in month_lengths(year) {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_instants() {
        assert_eq!(parse("1970-01-01"), Ok(0));
        assert_eq!(parse("2006-10-08T10:30:01.5Z"), Ok(1_160_303_401_500_000_000));
        assert_eq!(parse("2000-02-29"), Ok(951_782_400_000_000_000));
        assert_eq!(Date(i64::MAX).to_string(), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(Date(i64::MIN).to_string(), "1677-09-21T00:12:43.145224192Z");
    }

    #[test]
    fn what_is_not_a_date_is_refused() {
        for text in
            ["", "2006", "2006-13-01", "2006-02-29", "2006-1-1", "2006-10-08T10", "2006-10-08T10:30:01"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in
            ["2006-10-08T24:00Z", "2006-10-08T10:30.5Z", "9999-01-01", "0000-00-00", "2006-10-08T1:2:3Z"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_reading_is_the_identity(ns: i64) {
            prop_assert_eq!(parse(&Date(ns).to_string()), Ok(ns));
        }
    }
}
