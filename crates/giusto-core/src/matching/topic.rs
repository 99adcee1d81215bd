//! Topic names and patterns: `ward/3/alarm`, `ward/+/alarm` (one level), `ward/#` (the rest, also none).
//!
//! A wildcard in the first place does not cover names that begin with `_` or `$`: those are giusto's own, such as the
//! topics of replies, and whoever wants them says so.

use crate::error::Invalid;

/// The longest name or pattern.
pub const TOPIC_BYTES_MAX: usize = 255;

/// Refuses what cannot name a topic, and says where.
pub fn check_name(name: &str) -> Result<(), Invalid> {
    check(name, "topic", |_, level, position| {
        level.find(['+', '#']).map(|at| format!("a name without wildcards (position {})", position + at))
    })
}

/// Refuses what cannot be a pattern, and says where.
pub fn check_pattern(pattern: &str) -> Result<(), Invalid> {
    check(pattern, "pattern", |last, level, position| match level {
        "+" => None,
        "#" if last => None,
        "#" => Some(format!("'#' as the last level only (position {position})")),
        _ => level
            .find(['+', '#'])
            .map(|at| format!("a wildcard as a whole level (position {})", position + at)),
    })
}

/// `level_problem(is_last, level, position)` says what is wrong with a level; positions count bytes.
fn check(
    text: &str,
    field: &str,
    level_problem: impl Fn(bool, &str, usize) -> Option<String>,
) -> Result<(), Invalid> {
    let refuse = |expected: String| Err(Invalid::new(field, format!("{text:?}"), expected));
    if text.len() > TOPIC_BYTES_MAX {
        let length = text.len();
        return Err(Invalid::new(field, format!("{length} bytes"), "at most 255 bytes"));
    }
    if let Some(at) = text.find(char::is_control) {
        return refuse(format!("no control characters (position {at})"));
    }
    let mut position = 0;
    for level in text.split('/') {
        let end = position + level.len();
        if level.is_empty() {
            return refuse(format!("no empty level (position {position})"));
        }
        if let Some(problem) = level_problem(end == text.len(), level, position) {
            return refuse(problem);
        }
        position = end + 1;
    }
    Ok(())
}

/// Whether a wildcard does not cover this first level.
#[inline]
pub(super) fn is_reserved(first: &str) -> bool {
    first.starts_with(['_', '$'])
}

/// Whether `pattern` covers `name`; both are taken as valid.
pub fn matches(pattern: &str, name: &str) -> bool {
    if is_reserved(name) && pattern.starts_with(['+', '#']) {
        return false;
    }
    let mut levels = name.split('/');
    for part in pattern.split('/') {
        match (part, levels.next()) {
            ("#", _) => return true,
            ("+", Some(_)) => {}
            (part, Some(level)) if part == level => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_cover_what_mqtt_says() {
        for (pattern, name, expected) in [
            ("ward/3/alarm", "ward/3/alarm", true),
            ("ward/+/alarm", "ward/3/alarm", true),
            ("ward/+", "ward/3/alarm", false),
            ("ward/+", "ward", false),
            ("ward/#", "ward", true),
            ("ward/#", "ward/3/alarm", true),
            ("ward/#", "wards", false),
            ("#", "anything/at/all", true),
            ("+/#", "one", true),
            ("+/+", "one", false),
            ("ward/3/alarm", "ward/3", false),
            ("#", "_reply/monitor", false),
            ("+/#", "$giusto/model", false),
            ("_reply/#", "_reply/monitor", true),
            ("ward/#", "ward/_3", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} against {name}");
        }
    }

    #[test]
    fn what_is_refused_is_named_with_its_position() {
        for (pattern, position) in
            [("", 0), ("/a", 0), ("a//b", 2), ("a/", 2), ("a/b+", 3), ("a/#/b", 2), ("a/x#", 3), ("a\n", 1)]
        {
            let problem = check_pattern(pattern).unwrap_err().expected;
            assert!(problem.contains(&format!("(position {position})")), "{pattern:?}: {problem}");
        }
        assert!(check_name("ward/+").unwrap_err().expected.contains("position 5"));
        assert!(check_name(&"x".repeat(255)).is_ok());
        assert!(check_name(&"x".repeat(256)).is_err());
    }
}
