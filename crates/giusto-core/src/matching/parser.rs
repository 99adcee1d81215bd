//! Reads the text of a filter, or says where and why it cannot.
//!
//! ```text
//! any        = all { "or" all }
//! all        = unary { "and" unary }
//! unary      = "not" unary | "(" any ")" | comparison
//! comparison = attribute [ "not" ] operator value
//! value      = number | string | date | "{" [ value { "," value } ] "}"
//! ```

use std::sync::Arc;

use super::comparison::{Members, Relation, Sense, SetRelation, Test};
use super::filter::{DEPTH_MAX, Expression, FilterSyntax, Predicate, TEXT_BYTES_MAX};
use super::lexer::{Kind, Lexer, Token};
use super::number::Number;
use super::suggest;

const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "prefix", "suffix", "subset", "superset"];

/// Whether a bare `word` is part of the language and so cannot name an attribute.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}

pub(super) fn parse(text: &str) -> Result<Expression, FilterSyntax> {
    let mut lexer = Lexer::new(if text.len() > TEXT_BYTES_MAX { "" } else { text });
    if text.len() > TEXT_BYTES_MAX {
        let problem = format!("a filter has at most 65536 bytes, this one has {}", text.len());
        return Err(FilterSyntax { text: text.chars().take(80).collect(), position: 0, problem });
    }
    let next = lexer.token()?;
    let mut parser = Parser { lexer, next, depth: 0 };
    let expression = parser.any()?;
    match &parser.next.kind {
        Kind::End => Ok(expression),
        Kind::Sign(sign) if sign == ")" => Err(parser.error("this ')' closes nothing")),
        _ => Err(parser.error("expected 'and', 'or' or the end of the filter")),
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Operator {
    Relation(Relation),
    Prefix,
    Suffix,
    In,
    Subset,
    Superset,
}

enum Constant {
    Number(Number),
    Date(i64),
    Text(Arc<str>),
    Set(Members),
}

impl Parser<'_> {
    fn error(&self, problem: impl Into<String>) -> FilterSyntax {
        self.lexer.error(self.next.position, problem)
    }

    fn advance(&mut self) -> Result<Token, FilterSyntax> {
        let following = self.lexer.token()?;
        Ok(std::mem::replace(&mut self.next, following))
    }

    fn accept_word(&mut self, word: &str) -> Result<bool, FilterSyntax> {
        let found = matches!(&self.next.kind, Kind::Word(given) if given.eq_ignore_ascii_case(word));
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn accept_sign(&mut self, sign: &str) -> Result<bool, FilterSyntax> {
        let found = matches!(&self.next.kind, Kind::Sign(given) if given == sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn any(&mut self) -> Result<Expression, FilterSyntax> {
        let mut parts = vec![self.all()?];
        while self.accept_word("or")? {
            parts.push(self.all()?);
        }
        Ok(flatten(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, FilterSyntax> {
        let mut parts = vec![self.unary()?];
        while self.accept_word("and")? {
            parts.push(self.unary()?);
        }
        Ok(flatten(parts, Expression::All))
    }

    fn unary(&mut self) -> Result<Expression, FilterSyntax> {
        if self.depth >= DEPTH_MAX {
            return Err(self.error("parentheses and 'not' are nested more than 64 deep"));
        }
        let opening = self.next.position;
        self.depth += 1;
        let expression = if self.accept_word("not")? {
            self.unary()?.negated()
        } else if self.accept_sign("(")? {
            let inner = self.any()?;
            if !self.accept_sign(")")? {
                return Err(match self.next.kind {
                    Kind::End => self.lexer.error(opening, "the closing ')' is missing"),
                    _ => self.error("expected 'and', 'or' or ')'"),
                });
            }
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn comparison(&mut self) -> Result<Expression, FilterSyntax> {
        let name = self.attribute()?;
        let negated = self.accept_word("not")?;
        let (operator, written) = self.operator(negated)?;
        let position = self.next.position;
        let constant = self.constant(&written)?;
        let test = combine(operator, constant).map_err(|problem| self.lexer.error(position, problem))?;
        Ok(Expression::One(Predicate { name, test: if negated { test.negated() } else { test } }))
    }

    fn attribute(&mut self) -> Result<Arc<str>, FilterSyntax> {
        let name: Arc<str> = match &self.next.kind {
            Kind::Word(word) if is_keyword(word) => {
                let problem = format!("expected an attribute; write `{word}` if that is its name");
                return Err(self.error(problem));
            }
            Kind::Word(name) | Kind::Name(name) => Arc::from(name.as_str()),
            Kind::End => return Err(self.error("expected an attribute, found the end of the filter")),
            Kind::Sign(sign) => return Err(self.error(format!("expected an attribute before '{sign}'"))),
            _ => {
                return Err(
                    self.error("expected an attribute: its name comes first, the value after the operator")
                );
            }
        };
        if name.is_empty() || name.len() > 255 {
            return Err(self.error("the name of an attribute has 1 to 255 bytes"));
        }
        self.advance()?;
        Ok(name)
    }

    fn operator(&mut self, negated: bool) -> Result<(Operator, String), FilterSyntax> {
        let written = match &self.next.kind {
            Kind::Word(word) => word.to_ascii_lowercase(),
            Kind::Sign(sign) => sign.clone(),
            Kind::End => return Err(self.error("expected an operator, found the end of the filter")),
            _ => return Err(self.error("expected an operator such as = or <")),
        };
        let operator = read_operator(&written).ok_or_else(|| self.error(suggest::operator(&written)))?;
        if negated && matches!(operator, Operator::Relation(_)) {
            return Err(self.error(format!("write 'not (… {written} …)' to negate a comparison")));
        }
        self.advance()?;
        Ok((operator, written))
    }

    fn constant(&mut self, after: &str) -> Result<Constant, FilterSyntax> {
        let constant = match &self.next.kind {
            Kind::Number(number) => Constant::Number(*number),
            Kind::Date(date) => Constant::Date(*date),
            Kind::Text(text) => Constant::Text(Arc::from(text.as_str())),
            Kind::Sign(sign) if sign == "{" => return self.set(),
            Kind::Word(word) => return Err(self.error(suggest::value(after, word))),
            _ => return Err(self.error(format!("expected a value after '{after}'"))),
        };
        self.advance()?;
        Ok(constant)
    }

    fn set(&mut self) -> Result<Constant, FilterSyntax> {
        let opening = self.advance()?.position;
        let mut members = Vec::new();
        while !self.accept_sign("}")? {
            if !members.is_empty() && !self.accept_sign(",")? {
                return Err(match self.next.kind {
                    Kind::End => self.lexer.error(opening, "the closing '}' is missing"),
                    _ => self.error("expected ',' or '}'"),
                });
            }
            let inside = if members.is_empty() { "{" } else { "," };
            match &self.next.kind {
                Kind::Sign(sign) if sign == "{" => return Err(self.error("a set cannot hold a set")),
                _ => members.push(self.constant(inside)?),
            }
        }
        collect(members)
            .map(Constant::Set)
            .ok_or_else(|| self.lexer.error(opening, "a set holds values of one type"))
    }
}

fn flatten(mut parts: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let of_all = matches!(join(Vec::new()), Expression::All(_));
    let flat = parts.into_iter().flat_map(|part| match part {
        Expression::All(inner) if of_all => inner,
        Expression::Any(inner) if !of_all => inner,
        other => vec![other],
    });
    join(flat.collect())
}

fn read_operator(written: &str) -> Option<Operator> {
    Some(match written {
        "<" => Operator::Relation(Relation::Less),
        "<=" | "≤" => Operator::Relation(Relation::LessEqual),
        "=" | "==" => Operator::Relation(Relation::Equal),
        "!=" | "<>" | "≠" => Operator::Relation(Relation::NotEqual),
        ">" => Operator::Relation(Relation::Greater),
        ">=" | "≥" => Operator::Relation(Relation::GreaterEqual),
        "prefix" | ">*" => Operator::Prefix,
        "suffix" | "<*" => Operator::Suffix,
        "in" | "∈" => Operator::In,
        "subset" | "⊆" => Operator::Subset,
        "superset" | "⊇" => Operator::Superset,
        _ => return None,
    })
}

fn combine(operator: Operator, constant: Constant) -> Result<Test, &'static str> {
    use Sense::Holds;
    Ok(match (operator, constant) {
        (Operator::Relation(relation), Constant::Number(number)) => Test::Number(relation, number),
        (Operator::Relation(relation), Constant::Date(date)) => Test::Date(relation, date),
        (Operator::Relation(relation), Constant::Text(text)) => Test::Text(relation, text),
        (Operator::Relation(Relation::Equal), Constant::Set(set)) => {
            Test::Set(Holds, SetRelation::Equal, of_event(set)?.into())
        }
        (Operator::Relation(Relation::NotEqual), Constant::Set(set)) => {
            Test::Set(Sense::Fails, SetRelation::Equal, of_event(set)?.into())
        }
        (Operator::Relation(_), Constant::Set(_)) => {
            return Err("sets have no order; use subset or superset");
        }
        (Operator::Prefix, Constant::Text(text)) => Test::Prefix(Holds, text),
        (Operator::Suffix, Constant::Text(text)) => Test::Suffix(Holds, text),
        (Operator::Prefix | Operator::Suffix, _) => return Err("prefix and suffix need a string"),
        (Operator::In, Constant::Set(Members::Empty)) => {
            return Err("the set after 'in' needs at least one value");
        }
        (Operator::In, Constant::Set(set)) => Test::Among(Holds, set.into()),
        (Operator::Subset, Constant::Set(set)) => {
            Test::Set(Holds, SetRelation::Subset, of_event(set)?.into())
        }
        (Operator::Superset, Constant::Set(set)) => {
            Test::Set(Holds, SetRelation::Superset, of_event(set)?.into())
        }
        (Operator::In | Operator::Subset | Operator::Superset, _) => {
            return Err("this operator needs a set: {1, 2}");
        }
    })
}

/// The sets of events hold whole numbers or strings, so a constant to compare them with must too.
fn of_event(set: Members) -> Result<Members, &'static str> {
    let fits = match &set {
        Members::Empty | Members::Texts(_) => true,
        Members::Numbers(numbers) => numbers.iter().all(|number| number.as_int().is_some()),
        Members::Dates(_) => false,
    };
    if fits { Ok(set) } else { Err("a set to compare with a set holds Int or String values") }
}

fn collect(constants: Vec<Constant>) -> Option<Members> {
    let (mut numbers, mut dates, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for constant in constants {
        match constant {
            Constant::Number(number) => numbers.push(number),
            Constant::Date(date) => dates.push(date),
            Constant::Text(text) => texts.push(text),
            Constant::Set(_) => return None,
        }
    }
    match (numbers.is_empty(), dates.is_empty(), texts.is_empty()) {
        (true, true, true) => Some(Members::Empty),
        (false, true, true) => Some(Members::Numbers(ascending(numbers))),
        (true, false, true) => Some(Members::Dates(ascending(dates))),
        (true, true, false) => Some(Members::Texts(ascending(texts))),
        _ => None,
    }
}

fn ascending<T: Ord>(mut members: Vec<T>) -> Arc<[T]> {
    members.sort_unstable();
    members.dedup();
    members.into()
}
