//! The canonical text of a filter: parsing it gives the same filter.

use std::fmt::Write;

use super::comparison::{Members, Relation, Sense, SetRelation, Test};
use super::date::Date;
use super::filter::{Expression, Predicate};
use super::parser::is_keyword;

pub(super) fn canonical(expression: &Expression) -> String {
    let mut out = String::new();
    write_expression(expression, false, &mut out);
    out
}

fn write_expression(expression: &Expression, inside_all: bool, out: &mut String) {
    match expression {
        Expression::One(predicate) => write_predicate(predicate, out),
        Expression::All(parts) => write_joined(parts, " and ", true, out),
        Expression::Any(parts) if inside_all => {
            out.push('(');
            write_joined(parts, " or ", false, out);
            out.push(')');
        }
        Expression::Any(parts) => write_joined(parts, " or ", false, out),
    }
}

fn write_joined(parts: &[Expression], joint: &str, inside_all: bool, out: &mut String) {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(joint);
        }
        write_expression(part, inside_all, out);
    }
}

fn write_predicate(predicate: &Predicate, out: &mut String) {
    write_name(&predicate.name, out);
    match &predicate.test {
        Test::Number(relation, constant) => append(out, format_args!(" {} {constant}", relation.symbol())),
        Test::Date(relation, constant) => {
            append(out, format_args!(" {} @{}", relation.symbol(), Date(*constant)))
        }
        Test::Text(relation, constant) => {
            append(out, format_args!(" {} ", relation.symbol()));
            write_quoted(constant, '"', out);
        }
        Test::Prefix(sense, part) => {
            write_word(*sense, "prefix", out);
            write_quoted(part, '"', out);
        }
        Test::Suffix(sense, part) => {
            write_word(*sense, "suffix", out);
            write_quoted(part, '"', out);
        }
        Test::Among(sense, members) => {
            write_word(*sense, "in", out);
            write_members(members, out);
        }
        Test::Set(sense, relation, members) => {
            write_set_relation(*sense, *relation, out);
            write_members(members, out);
        }
    }
}

fn append(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = out.write_fmt(text);
}

fn write_word(sense: Sense, word: &str, out: &mut String) {
    out.push_str(if sense == Sense::Fails { " not " } else { " " });
    out.push_str(word);
    out.push(' ');
}

fn write_set_relation(sense: Sense, relation: SetRelation, out: &mut String) {
    match (relation, sense) {
        (SetRelation::Equal, Sense::Holds) => append(out, format_args!(" {} ", Relation::Equal.symbol())),
        (SetRelation::Equal, Sense::Fails) => append(out, format_args!(" {} ", Relation::NotEqual.symbol())),
        (SetRelation::Subset, _) => write_word(sense, "subset", out),
        (SetRelation::Superset, _) => write_word(sense, "superset", out),
    }
}

fn write_members(members: &Members, out: &mut String) {
    out.push('{');
    match members {
        Members::Empty => {}
        Members::Numbers(numbers) => {
            write_list(numbers, out, |number, out| append(out, format_args!("{number}")))
        }
        Members::Dates(dates) => {
            write_list(dates, out, |date, out| append(out, format_args!("@{}", Date(*date))))
        }
        Members::Texts(texts) => write_list(texts, out, |text, out| write_quoted(text, '"', out)),
    }
    out.push('}');
}

fn write_list<T>(list: &[T], out: &mut String, write: impl Fn(&T, &mut String)) {
    for (i, member) in list.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write(member, out);
    }
}

fn write_name(name: &str, out: &mut String) {
    let mut chars = name.chars();
    let begins = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    if begins && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '.') && !is_keyword(name) {
        out.push_str(name);
    } else {
        write_quoted(name, '`', out);
    }
}

fn write_quoted(text: &str, quote: char, out: &mut String) {
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => append(out, format_args!("\\u{{{:X}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
}
