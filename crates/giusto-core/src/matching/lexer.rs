//! Splits the text of a filter into words, signs and values, and says where each begins.

use super::date;
use super::filter::FilterSyntax;
use super::number::Number;

/// A piece of the text and where it begins, in characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) position: usize,
    pub(super) kind: Kind,
}

/// What a piece of the text is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A bare word: an attribute or a keyword.
    Word(String),
    /// `` `name` ``: an attribute whatever it says.
    Name(String),
    /// An operator sign, bracket or comma.
    Sign(String),
    Number(Number),
    Date(i64),
    Text(String),
    End,
}

/// Signs, longest first, so that `>*` is not read as `>`.
const SIGNS: [&str; 19] =
    ["<=", ">=", "!=", "==", "<>", ">*", "<*", "<", ">", "=", "≤", "≥", "≠", "∈", "⊆", "⊇", "(", ")", "{"];

pub(super) struct Lexer<'a> {
    text: &'a str,
    chars: Vec<char>,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, chars: text.chars().collect(), at: 0 }
    }

    pub(super) fn error(&self, position: usize, problem: impl Into<String>) -> FilterSyntax {
        FilterSyntax { text: self.text.to_owned(), position, problem: problem.into() }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// The next piece; `End` for ever after the last.
    pub(super) fn token(&mut self) -> Result<Token, FilterSyntax> {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        let position = self.at;
        let kind = match self.peek(0) {
            None => Kind::End,
            Some('"') => Kind::Text(self.quoted('"')?),
            Some('`') => Kind::Name(self.quoted('`')?),
            Some('@') => self.date()?,
            Some(c) if c.is_ascii_digit() || (matches!(c, '-' | '+' | '.') && self.number_follows()) => {
                self.number()?
            }
            Some(c) if c.is_alphabetic() || c == '_' => {
                Kind::Word(self.span(|c| c.is_alphanumeric() || c == '_' || c == '.'))
            }
            Some(c) => self.sign().ok_or_else(|| self.error(position, unexpected(c)))?,
        };
        Ok(Token { position, kind })
    }

    fn span(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(&belongs) {
            self.at += 1;
        }
        self.chars.get(start..self.at).unwrap_or_default().iter().collect()
    }

    fn sign(&mut self) -> Option<Kind> {
        let found = SIGNS
            .iter()
            .chain(&["}", ","])
            .find(|sign| sign.chars().enumerate().all(|(i, c)| self.peek(i) == Some(c)))?;
        self.at += found.chars().count();
        Some(Kind::Sign((*found).to_owned()))
    }

    fn number_follows(&self) -> bool {
        self.peek(1).is_some_and(|c| c.is_ascii_digit() || c == '.')
    }

    fn number(&mut self) -> Result<Kind, FilterSyntax> {
        let start = self.at;
        let mut previous = ' ';
        let mut end = self.at;
        while let Some(c) = self.chars.get(end).copied() {
            let signed = matches!(c, '-' | '+') && (end == start || matches!(previous, 'e' | 'E'));
            if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || signed) {
                break;
            }
            previous = c;
            end += 1;
        }
        let digits: String = self.chars.get(start..end).unwrap_or_default().iter().collect();
        self.at = end;
        read_number(&digits).map(Kind::Number).map_err(|problem| self.error(start, problem))
    }

    fn date(&mut self) -> Result<Kind, FilterSyntax> {
        let start = self.at;
        self.at += 1;
        let written = self.span(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.'));
        date::parse(&written).map(Kind::Date).map_err(|problem| self.error(start, problem))
    }

    fn quoted(&mut self, quote: char) -> Result<String, FilterSyntax> {
        let start = self.at;
        self.at += 1;
        let mut read = String::new();
        loop {
            let position = self.at;
            let c =
                self.peek(0).ok_or_else(|| self.error(start, format!("the closing {quote} is missing")))?;
            self.at += 1;
            match c {
                _ if c == quote => return Ok(read),
                '\\' => read.push(self.escape(position)?),
                _ if c.is_control() => {
                    let problem = format!("write {} instead of the control character", c.escape_unicode());
                    return Err(self.error(position, problem));
                }
                _ => read.push(c),
            }
        }
    }

    fn escape(&mut self, position: usize) -> Result<char, FilterSyntax> {
        let c = self.peek(0);
        self.at += 1;
        match c {
            Some(c @ ('"' | '\\' | '`')) => Ok(c),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') if self.peek(0) == Some('{') => self.code_point(position),
            _ => Err(self.error(position, r#"unknown escape; use \" \\ \` \n \r \t or \u{1F600}"#)),
        }
    }

    fn code_point(&mut self, position: usize) -> Result<char, FilterSyntax> {
        self.at += 1;
        let digits = self.span(|c| c.is_ascii_hexdigit());
        let closed = self.peek(0) == Some('}');
        self.at += 1;
        let code = if closed && digits.len() <= 6 { u32::from_str_radix(&digits, 16).ok() } else { None };
        code.and_then(char::from_u32).ok_or_else(|| {
            self.error(position, r"a code point is written \u{1F600}, 1 to 6 hexadecimal digits")
        })
    }
}

fn read_number(digits: &str) -> Result<Number, String> {
    let unsigned = digits.trim_start_matches(['-', '+']);
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits
            .parse()
            .map(Number::int)
            .map_err(|_| format!("{digits} does not fit into an Int; write {digits}.0 for a Double"));
    }
    let shaped = unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    match digits.parse::<f64>() {
        Ok(value) if shaped && value.is_finite() => {
            Number::double(value).ok_or_else(|| "NaN is not a value".to_owned())
        }
        Ok(_) if shaped => Err(format!("{digits} does not fit into a Double")),
        _ => Err(format!("{digits} is not a number")),
    }
}

fn unexpected(c: char) -> String {
    match c {
        '\'' | '“' | '”' => r#"strings are written in double quotes: "…""#.to_owned(),
        '&' => "write 'and'".to_owned(),
        '|' => "write 'or'".to_owned(),
        '!' => "write 'not', or '!=' to compare".to_owned(),
        '[' | ']' => "sets are written in braces: {…}".to_owned(),
        c if c.is_control() => format!("unexpected control character {}", c.escape_unicode()),
        c => format!("unexpected '{c}'"),
    }
}
