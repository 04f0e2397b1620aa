//! The file as a tree of values, each with its place.
//!
//! A tree of our own over the tokens of `jsonc-parser`, since rt-app's files are not quite JSON:
//! comments and trailing commas are common, keys repeat and their order matters, and a key may
//! stand without a value (`"suspend",`), which no JSON parser takes.

use super::fault::{Fault, short};
use crate::source::{At, Source};
use jsonc_parser::{
    Scanner, ScannerOptions,
    errors::{ParseError, ParseErrorKind},
    tokens::Token,
};
use std::borrow::Cow;

/// How deep values may nest; a workload needs six levels.
const MAX_DEPTH: usize = 16;
/// How many values a file may have, so that a small file cannot take a lot of memory.
const MAX_VALUES: usize = 1_000_000;

/// A value and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value<'t> {
    pub(super) at: At,
    pub(super) kind: Kind<'t>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind<'t> {
    Null,
    Bool(bool),
    /// As it is written.
    Number(&'t str),
    Text(Cow<'t, str>),
    List(Vec<Value<'t>>),
    Object(Vec<Member<'t>>),
}

impl Kind<'_> {
    /// What messages call it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// A key of an object, and its value where it has one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member<'t> {
    pub(super) at: At,
    pub(super) key: Cow<'t, str>,
    pub(super) value: Option<Value<'t>>,
}

/// Reads a whole file.
pub(super) fn parse<'t>(source: &Source<'t>) -> Result<Value<'t>, Fault> {
    let options = ScannerOptions {
        allow_single_quoted_strings: true,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let mut reader = Reader {
        scanner: Scanner::new(source.text, &options),
        token: None,
        at: At(0),
        depth: 0,
        values: 0,
    };
    reader.advance()?;
    if reader.token.is_none() {
        let reason =
            "the file is empty; it needs at least {\"tasks\": {\"NAME\": {\"run\": TIME}}}";
        return Err(Fault::new(At(0), reason));
    }
    let value = reader.value()?;
    match reader.token {
        None => Ok(value),
        Some(_) => Err(reader.unexpected("the end of the file")),
    }
}

struct Reader<'t> {
    scanner: Scanner<'t>,
    /// The token to be read next; none at the end.
    token: Option<Token<'t>>,
    at: At,
    depth: usize,
    values: usize,
}

impl<'t> Reader<'t> {
    /// Moves on to the next token that is no comment, and returns the one before.
    fn advance(&mut self) -> Result<Option<Token<'t>>, Fault> {
        let next = loop {
            match self.scanner.scan() {
                Ok(Some(Token::CommentLine(_) | Token::CommentBlock(_))) => {}
                Ok(token) => break token,
                Err(error) => return Err(self.damaged(&error)),
            }
        };
        self.at = at(self.scanner.token_start());
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn value(&mut self) -> Result<Value<'t>, Fault> {
        self.values += 1;
        if self.values > MAX_VALUES {
            let reason = format!("more than {MAX_VALUES} values; split the workload");
            return Err(Fault::new(self.at, reason));
        }
        let at = self.at;
        let kind = match &self.token {
            Some(Token::OpenBrace) => return self.nested(at, Self::object),
            Some(Token::OpenBracket) => return self.nested(at, Self::list),
            Some(Token::String(text)) => Kind::Text(text.clone()),
            Some(Token::Number(number)) => Kind::Number(number),
            Some(Token::Boolean(value)) => Kind::Bool(*value),
            Some(Token::Null) => Kind::Null,
            _ => return Err(self.unexpected("a value")),
        };
        self.advance()?;
        Ok(Value { at, kind })
    }

    fn nested(
        &mut self,
        at: At,
        read: fn(&mut Self) -> Result<Kind<'t>, Fault>,
    ) -> Result<Value<'t>, Fault> {
        if self.depth == MAX_DEPTH {
            let reason = format!("nested deeper than {MAX_DEPTH} levels; a workload needs six");
            return Err(Fault::new(at, reason));
        }
        self.depth += 1;
        self.advance()?;
        let kind = read(self)?;
        self.depth -= 1;
        Ok(Value { at, kind })
    }

    fn list(&mut self) -> Result<Kind<'t>, Fault> {
        let mut values = Vec::new();
        while self.token != Some(Token::CloseBracket) {
            values.push(self.value()?);
            self.comma_or(&Token::CloseBracket)?;
        }
        self.advance()?;
        Ok(Kind::List(values))
    }

    fn object(&mut self) -> Result<Kind<'t>, Fault> {
        let mut members = Vec::new();
        while self.token != Some(Token::CloseBrace) {
            let at = self.at;
            let Some(Token::String(key)) = &self.token else {
                return Err(self.unexpected("a key in quotes"));
            };
            let key = key.clone();
            self.advance()?;
            let value = match self.token {
                Some(Token::Colon) => {
                    self.advance()?;
                    Some(self.value()?)
                }
                // Left out, for the reader of the object to fill in.
                Some(Token::Comma | Token::CloseBrace) => None,
                _ => return Err(self.unexpected("a colon")),
            };
            members.push(Member { at, key, value });
            self.comma_or(&Token::CloseBrace)?;
        }
        self.advance()?;
        Ok(Kind::Object(members))
    }

    /// Reads a comma unless the list or object ends here.
    fn comma_or(&mut self, end: &Token<'_>) -> Result<(), Fault> {
        match &self.token {
            Some(Token::Comma) => self.advance().map(|_| ()),
            Some(token) if token == end => Ok(()),
            _ => Err(self.unexpected(&format!("a comma or `{}`", end.as_str()))),
        }
    }

    /// Says what cannot be read as a token.
    fn damaged(&self, error: &ParseError) -> Fault {
        let start = error.range().start;
        let reason = match error.kind() {
            ParseErrorKind::UnexpectedToken => {
                let rest = &self.scanner.file_text()[start..];
                let ends = |c: char| c.is_whitespace() || c.is_control() || ",:[]{}\"".contains(c);
                let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
                // A character that ends words has nothing before it here.
                let shown = if word.is_empty() { rest.get(..1).unwrap_or_default() } else { word };
                format!("`{}` cannot stand here{}", short(shown), instead_of(word))
            }
            kind => {
                let what = kind.to_string();
                let (first, rest) = what.split_at(1);
                first.to_lowercase() + rest
            }
        };
        Fault::new(at(start), reason)
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let reason = match &self.token {
            None => format!("the file ends where {expected} is expected"),
            Some(Token::Word(word)) => {
                let hint = instead_of(word);
                format!("`{}` where {expected} is expected{hint}", short(word))
            }
            Some(Token::String(text)) => {
                format!("\"{}\" where {expected} is expected", short(text))
            }
            Some(token) => format!("`{}` where {expected} is expected", short(token.as_str())),
        };
        Fault::new(self.at, reason)
    }
}

/// What to do about a word outside quotes.
fn instead_of(word: &str) -> &'static str {
    match word.to_ascii_lowercase().as_str() {
        "true" => "; write `true`",
        "false" => "; write `false`",
        _ => "; if this is a template, fill in its placeholders first",
    }
}

/// The place of a byte; files are far smaller than 4 GiB.
fn at(byte: usize) -> At {
    At(u32::try_from(byte).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
