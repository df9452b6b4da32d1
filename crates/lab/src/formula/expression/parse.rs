//! Text to tree: operators by precedence.

use std::ops::Range;

use super::{ARITHMETIC, Argument, Function, Kind, Node, Operator, What, Wrong};
use tfrc_scenario::hint;

/// Nested brackets and signs; deeper is not a formula.
const DEEPEST: usize = 64;
/// Operators, functions and values in a formula: each may hold the one before it, and to look at
/// them all takes as much stack as they are many.
const MOST_PARTS: usize = 2000;
/// Precedence of a sign: below a power, above a product.
const SIGN: u8 = 6;

pub(super) fn parse(text: &str, functions: &[Function], variables: &[&str]) -> Result<Node, Wrong> {
    let mut parser = Parser { text, at: 0, depth: 0, parts: 0, functions, variables };
    let root = parser.expression(0)?;
    match parser.peek()? {
        (Token::End, _) => Ok(root),
        (token, place) => Err(wrong(place, format!("{token} cannot stand here"), "an operator, or the end")),
    }
}

fn wrong(place: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Wrong {
    Wrong { place, message: message.into(), hint: hint.into() }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    parts: usize,
    functions: &'t [Function],
    variables: &'t [&'t str],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'t> {
    Close,
    Comma,
    End,
    Name(&'t str),
    Number(f64),
    Open,
    Operator(Operator, &'t str),
    Text(&'t str),
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Close => f.write_str("`)`"),
            Self::Comma => f.write_str("`,`"),
            Self::End => f.write_str("the end"),
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Number(number) => write!(f, "`{number}`"),
            Self::Open => f.write_str("`(`"),
            Self::Operator(_, sign) => write!(f, "`{sign}`"),
            Self::Text(text) => write!(f, "the text '{text}'"),
        }
    }
}

const SIGNS: [(&str, Operator); 11] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::MoreOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<", Operator::Less),
    (">", Operator::More),
    ("+", Operator::Add),
    ("-", Operator::Subtract),
    ("*", Operator::Multiply),
    ("/", Operator::Divide),
    ("^", Operator::Power),
];

/// How strongly comparisons bind.
const COMPARISON: (u8, u8) = (2, 3);

/// How strongly an operator binds to its left and to its right.
fn binding(operator: Operator) -> (u8, u8) {
    match operator {
        Operator::Or => (0, 1),
        Operator::And => (1, 2),
        Operator::Equal
        | Operator::Less
        | Operator::LessOrEqual
        | Operator::More
        | Operator::MoreOrEqual
        | Operator::Unequal => COMPARISON,
        Operator::Add | Operator::Subtract => (3, 4),
        Operator::Multiply | Operator::Divide => (4, 5),
        Operator::Power => (7, SIGN),
    }
}

impl<'t> Parser<'t> {
    fn expression(&mut self, least: u8) -> Result<Node, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(wrong(self.at..self.text.len(), "too deep", "fewer brackets and signs"));
        }
        let mut left = self.operand()?;
        let mut compared = false;
        while let (Token::Operator(operator, _), place) = self.peek()? {
            let (to_left, to_right) = binding(operator);
            if to_left < least {
                break;
            }
            if (to_left, to_right) == COMPARISON && std::mem::replace(&mut compared, true) {
                let hint = "both apart: `0.9 < x and x < 1.1`; or brackets";
                return Err(wrong(place, "two comparisons in a row", hint));
            }
            self.next()?;
            let right = self.expression(to_right)?;
            let place = left.place.start..right.place.end;
            left = Node { place, what: What::Binary(operator, Box::new(left), Box::new(right)) };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Result<Node, Wrong> {
        let (token, place) = self.next()?;
        self.parts += 1;
        if self.parts > MOST_PARTS {
            let message = format!("a formula of more than {MOST_PARTS} values");
            return Err(wrong(place.start..self.text.len(), message, "write less, or several columns"));
        }
        let start = place.start;
        let what = match token {
            Token::Number(number) => What::Number(number),
            Token::Operator(Operator::Subtract, _) => What::Negated(Box::new(self.expression(SIGN)?)),
            Token::Open => {
                let mut inner = self.expression(0)?;
                inner.place = start..self.close()?;
                return Ok(inner);
            }
            Token::Name(name) if self.peek()?.0 == Token::Open => return self.call(name, place),
            Token::Name(name) if self.variables.contains(&name) => What::Variable(name.to_owned()),
            Token::Name(name) => {
                let functions = self.functions.iter().chain(&ARITHMETIC).map(|f| f.name);
                let known: Vec<&str> = self.variables.iter().copied().chain(functions).collect();
                return Err(wrong(place, format!("there is no `{name}`"), hint(name, &known)));
            }
            other => {
                return Err(wrong(
                    place,
                    format!("{other} cannot stand here"),
                    "a number, a function or a bracket",
                ));
            }
        };
        Ok(Node { place: start..self.at, what })
    }

    fn close(&mut self) -> Result<usize, Wrong> {
        match self.next()? {
            (Token::Close, place) => Ok(place.end),
            (_, place) => Err(wrong(place, "`)` is missing", "close what was opened")),
        }
    }

    fn call(&mut self, name: &str, at: Range<usize>) -> Result<Node, Wrong> {
        let all = || self.functions.iter().chain(&ARITHMETIC);
        let Some(function) = all().find(|f| f.name == name).copied() else {
            let known: Vec<&str> = all().map(|f| f.name).collect();
            return Err(wrong(at, format!("there is no function `{name}`"), hint(name, &known)));
        };
        self.next()?;
        let mut arguments = Vec::new();
        let end = loop {
            match self.peek()? {
                (Token::Close, place) if arguments.is_empty() => {
                    self.next()?;
                    break place.end;
                }
                (Token::Text(text), place) => {
                    self.next()?;
                    arguments.push(Argument::Text(place, text.to_owned()));
                }
                _ => arguments.push(Argument::Value(self.expression(0)?)),
            }
            match self.next()? {
                (Token::Comma, _) => {}
                (Token::Close, place) => break place.end,
                (token, place) => {
                    return Err(wrong(place, format!("{token} cannot stand here"), "`,` or `)`"));
                }
            }
        };
        let place = at.start..end;
        if arguments.len() != function.takes.len() {
            let message =
                format!("`{name}` takes {} arguments, not {}", function.takes.len(), arguments.len());
            return Err(wrong(place, message, format!("write {}", form(&function))));
        }
        for (kind, argument) in function.takes.iter().zip(&arguments) {
            match (kind, argument) {
                (Kind::Number, Argument::Text(at, _)) => {
                    let hint = format!("write {}", form(&function));
                    return Err(wrong(at.clone(), "a text where a number belongs", hint));
                }
                (Kind::Text(what), Argument::Value(node)) => {
                    let message = format!("{what} belongs here, as a text in single quotes");
                    return Err(wrong(node.place.clone(), message, format!("write {}", form(&function))));
                }
                _ => {}
            }
        }
        Ok(Node { place, what: What::Call(name.to_owned(), arguments) })
    }

    fn peek(&self) -> Result<(Token<'t>, Range<usize>), Wrong> {
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok((Token::End, start..start)) };
        let while_true = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        if first.is_ascii_digit() || first == '.' {
            let mut length = while_true(|c| c.is_ascii_digit() || c == '.');
            let exponent = &rest[length..];
            if exponent.starts_with(['e', 'E']) {
                let sign = usize::from(exponent[1..].starts_with(['+', '-']));
                let digits = &exponent[1 + sign..];
                let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                if count > 0 {
                    length += 1 + sign + count;
                }
            }
            let (written, place) = (&rest[..length], start..start + length);
            return match written.parse() {
                Ok(number) => Ok((Token::Number(number), place)),
                Err(_) => Err(wrong(place, format!("`{written}` is no number"), "such as 0.5 or 1e3")),
            };
        }
        if first == '\'' {
            let Some(end) = rest[1..].find('\'') else {
                return Err(wrong(
                    start..self.text.len(),
                    "no closing quote",
                    "texts stand in single quotes",
                ));
            };
            return Ok((Token::Text(&rest[1..=end]), start..start + end + 2));
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let length = while_true(|c| c.is_ascii_alphanumeric() || c == '_');
            let name = &rest[..length];
            let token = match name {
                "and" => Token::Operator(Operator::And, name),
                "or" => Token::Operator(Operator::Or, name),
                _ => Token::Name(name),
            };
            return Ok((token, start..start + length));
        }
        let one = |token| Ok((token, start..start + 1));
        match first {
            '(' => return one(Token::Open),
            ')' => return one(Token::Close),
            ',' => return one(Token::Comma),
            _ => {}
        }
        match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            Some((sign, operator)) => Ok((Token::Operator(*operator, sign), start..start + sign.len())),
            None => Err(wrong(
                start..start + first.len_utf8(),
                format!("`{first}` has no meaning here"),
                "operators are + - * / ^ < <= > >= == != and or",
            )),
        }
    }

    fn next(&mut self) -> Result<(Token<'t>, Range<usize>), Wrong> {
        let (token, place) = self.peek()?;
        self.at = place.end;
        Ok((token, place))
    }
}

/// How a function is written.
fn form(function: &Function) -> String {
    let takes = function.takes.iter().map(|kind| match kind {
        Kind::Number => "NUMBER".to_owned(),
        Kind::Text(what) => format!("'{what}'"),
    });
    format!("{}({})", function.name, takes.collect::<Vec<_>>().join(", "))
}
