//! What a person probably meant: the sentences for words that are no operator and no value.

const OPERATORS: [&str; 5] = ["prefix", "suffix", "in", "subset", "superset"];

/// Words of other languages and what they are called here.
const ELSEWHERE: [(&str, &str); 12] = [
    ("like", "prefix"),
    ("startswith", "prefix"),
    ("starts", "prefix"),
    ("endswith", "suffix"),
    ("ends", "suffix"),
    ("contains", "superset"),
    ("has", "superset"),
    ("is", "="),
    ("eq", "="),
    ("ne", "!="),
    ("lt", "<"),
    ("gt", ">"),
];

/// The problem with `written` where an operator should be.
pub(super) fn operator(written: &str) -> String {
    match nearest(written) {
        Some(known) => format!("unknown operator '{written}'; did you mean '{known}'?"),
        None if written == ")" || written == "and" || written == "or" => {
            format!("expected an operator and a value before '{written}'")
        }
        None => {
            format!("unknown operator '{written}'; the operators are < <= = != > >= {}", OPERATORS.join(" "))
        }
    }
}

/// The problem with the bare `word` where a value should be.
pub(super) fn value(after: &str, word: &str) -> String {
    match word.to_ascii_lowercase().as_str() {
        "nan" => "NaN is not a value".to_owned(),
        "inf" | "infinity" => "infinity is not a value".to_owned(),
        "true" | "false" => format!("{word} is not a value: use an Int or a String"),
        "and" | "or" | "not" => format!("expected a value after '{after}'"),
        _ => format!("expected a value after '{after}'; strings are written \"{word}\""),
    }
}

fn nearest(written: &str) -> Option<&'static str> {
    let beginning =
        |known: &&str| known.len() > written.len() && written.len() > 1 && known.starts_with(written);
    if let Some(&(_, known)) = ELSEWHERE.iter().find(|(word, _)| *word == written || beginning(word)) {
        return Some(known);
    }
    let (distance, known) = OPERATORS.iter().map(|known| (distance(written, known), *known)).min()?;
    (distance <= 2 && distance < written.chars().count()).then_some(known)
}

/// Insertions, deletions and replacements that turn `a` into `b`; words over 16 characters are far.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(17).collect();
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (j, c) in b.chars().enumerate() {
        let mut next = vec![j + 1];
        for (i, (&d, window)) in a.iter().zip(row.windows(2)).enumerate() {
            let [diagonal, above] = window else { continue };
            let left = next.get(i).copied().unwrap_or_default();
            next.push((diagonal + usize::from(c != d)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
