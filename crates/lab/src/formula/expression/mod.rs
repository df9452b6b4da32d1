//! Small arithmetic over what was measured: numbers, `+ - * / ^`, comparisons, `and`, `or`,
//! parentheses and functions. A value that is not there makes the whole expression have none.

mod parse;

use std::fmt;
use std::ops::Range;

/// An expression that has been read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

/// Why an expression cannot be read or computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Bytes of the expression.
    pub place: Range<usize>,
    /// Description of the mistake.
    pub message: String,
    /// Advice for the user.
    pub hint: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Node {
    place: Range<usize>,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Number(f64),
    Variable(String),
    Negated(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Call(String, Vec<Argument>),
}

/// Argument of a function.
#[derive(Debug, Clone, PartialEq)]
enum Argument {
    Text(Range<usize>, String),
    Value(Node),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    And,
    Divide,
    Equal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
    Multiply,
    Or,
    Power,
    Subtract,
    Unequal,
}

/// Kind of a function's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A text in quotes; what it names.
    Text(&'static str),
}

/// A function: its name and what it takes.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The word in formulas.
    pub name: &'static str,
    /// The kinds of its arguments, in their order.
    pub takes: &'static [Kind],
}

/// Value of an argument when a function is called.
#[derive(Debug, Clone, PartialEq)]
pub enum Given<'e> {
    /// A number.
    Number(f64),
    /// A text.
    Text(&'e str),
}

impl Given<'_> {
    /// The text; empty for a number.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number(_) => "",
        }
    }

    /// The number; not a number for a text.
    #[must_use]
    pub fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(_) => f64::NAN,
        }
    }
}

/// Values behind the names in an expression.
pub trait Scope {
    /// The value of a variable.
    fn variable(&self, _name: &str) -> Option<f64> {
        None
    }
    /// The value of a function.
    ///
    /// # Errors
    /// A sentence about what is wrong, and another about what would be right.
    fn call(&self, name: &str, given: &[Given<'_>]) -> Result<Option<f64>, (String, String)>;
}

impl Expression {
    /// Reads an expression. Its functions and variables must be among these.
    ///
    /// # Errors
    /// [`Wrong`] with the place of the first mistake.
    pub fn parse(text: &str, functions: &[Function], variables: &[&str]) -> Result<Self, Wrong> {
        Ok(Self { text: text.to_owned(), root: parse::parse(text, functions, variables)? })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value; `None` if something in it has none, or if it is not finite.
    ///
    /// # Errors
    /// [`Wrong`] with the place of a call that the scope refuses.
    pub fn value(&self, scope: &dyn Scope) -> Result<Option<f64>, Wrong> {
        Ok(value(&self.root, scope)?.filter(|x| x.is_finite()))
    }

    /// Returns true if the expression calls this function.
    #[must_use]
    pub fn calls(&self, function: &str) -> bool {
        let mut found = false;
        walk(&self.root, &mut |name, _| found |= name == function);
        found
    }

    /// The texts given to a function as its argument `index`, with their places.
    #[must_use]
    pub fn texts(&self, function: &str, index: usize) -> Vec<(Range<usize>, String)> {
        let mut found = Vec::new();
        walk(&self.root, &mut |name, arguments| {
            if let (true, Some(Argument::Text(place, text))) = (name == function, arguments.get(index)) {
                found.push((place.clone(), text.clone()));
            }
        });
        found
    }
}

fn walk(node: &Node, see: &mut dyn FnMut(&str, &[Argument])) {
    match &node.what {
        What::Number(_) | What::Variable(_) => {}
        What::Negated(inner) => walk(inner, see),
        What::Binary(_, a, b) => {
            walk(a, see);
            walk(b, see);
        }
        What::Call(name, arguments) => {
            see(name, arguments);
            for argument in arguments {
                if let Argument::Value(node) = argument {
                    walk(node, see);
                }
            }
        }
    }
}

fn value(node: &Node, scope: &dyn Scope) -> Result<Option<f64>, Wrong> {
    let truth = |x: bool| f64::from(u8::from(x));
    Ok(match &node.what {
        What::Number(x) => Some(*x),
        What::Variable(name) => scope.variable(name),
        What::Negated(inner) => value(inner, scope)?.map(|x| -x),
        What::Binary(operator, a, b) => {
            let (Some(a), Some(b)) = (value(a, scope)?, value(b, scope)?) else { return Ok(None) };
            Some(match operator {
                Operator::Add => a + b,
                Operator::And => truth(a != 0.0 && b != 0.0),
                Operator::Divide => a / b,
                Operator::Equal => truth(a == b),
                Operator::Less => truth(a < b),
                Operator::LessOrEqual => truth(a <= b),
                Operator::More => truth(a > b),
                Operator::MoreOrEqual => truth(a >= b),
                Operator::Multiply => a * b,
                Operator::Or => truth(a != 0.0 || b != 0.0),
                Operator::Power => a.powf(b),
                Operator::Subtract => a - b,
                Operator::Unequal => truth(a != b),
            })
        }
        What::Call(name, arguments) => {
            let mut given = Vec::new();
            for argument in arguments {
                given.push(match argument {
                    Argument::Text(_, text) => Given::Text(text),
                    Argument::Value(node) => match value(node, scope)? {
                        Some(x) => Given::Number(x),
                        None => return Ok(None),
                    },
                });
            }
            if let Some(result) = arithmetic(name, &given) {
                return Ok(Some(result));
            }
            scope.call(name, &given).map_err(|(message, hint)| Wrong {
                place: node.place.clone(),
                message,
                hint,
            })?
        }
    })
}

/// Functions that every scope has.
const ARITHMETIC: [Function; 6] = [
    Function { name: "abs", takes: &[Kind::Number] },
    Function { name: "sqrt", takes: &[Kind::Number] },
    Function { name: "ln", takes: &[Kind::Number] },
    Function { name: "exp", takes: &[Kind::Number] },
    Function { name: "least", takes: &[Kind::Number, Kind::Number] },
    Function { name: "greatest", takes: &[Kind::Number, Kind::Number] },
];

fn arithmetic(name: &str, given: &[Given<'_>]) -> Option<f64> {
    let x = given.first()?.number();
    Some(match (name, given.get(1)) {
        ("abs", _) => x.abs(),
        ("sqrt", _) => x.sqrt(),
        ("ln", _) => x.ln(),
        ("exp", _) => x.exp(),
        ("least", Some(y)) => x.min(y.number()),
        ("greatest", Some(y)) => x.max(y.number()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Table;
    const FUNCTIONS: [Function; 2] = [
        Function { name: "flow", takes: &[Kind::Text("a flow"), Kind::Text("a key")] },
        Function { name: "two", takes: &[] },
    ];

    impl Scope for Table {
        fn variable(&self, name: &str) -> Option<f64> {
            (name == "measured").then_some(10.0)
        }
        fn call(&self, name: &str, given: &[Given<'_>]) -> Result<Option<f64>, (String, String)> {
            match (name, given.first().map(Given::text)) {
                ("two", _) => Ok(Some(2.0)),
                (_, Some("a")) => Ok(Some(7.0)),
                (_, Some("none")) => Ok(None),
                _ => Err(("no such flow".to_owned(), "a".to_owned())),
            }
        }
    }

    fn parse(text: &str) -> Result<Expression, Wrong> {
        Expression::parse(text, &FUNCTIONS, &["measured", "published"])
    }

    fn of(text: &str) -> Option<f64> {
        parse(text).expect(text).value(&Table).expect(text)
    }

    #[test]
    fn precedence_and_functions() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 4 - 3", 3.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("12 / 2 / 3", 2.0),
            ("1.5e3 / 1e3", 1.5),
            ("1 < 2 and 2 >= 2", 1.0),
            ("1 > 2 or 1 != 1", 0.0),
            ("1 + 1 == 2", 1.0),
            ("flow('a', 'x') * two()", 14.0),
            ("least(3, two()) + greatest(1, 5) + abs(-1)", 8.0),
            ("measured / 4", 2.5),
        ] {
            assert_eq!(of(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_missing_has_no_value() {
        for text in ["published + 1", "flow('none','x') > 1", "1 / 0", "0 / 0", "abs(published)"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn mistakes_have_their_place() {
        for (text, place, says) in [
            ("1 + ", 4..4, "end"),
            ("1 + * 2", 4..5, "`*`"),
            ("(1 + 2", 6..6, "`)`"),
            ("1 2", 2..3, "`2`"),
            ("flaw('a', 'b')", 0..4, "flaw"),
            ("flow('a')", 0..9, "flow"),
            ("flow(1, 'b')", 5..6, "a flow"),
            ("abs('a')", 4..7, "number"),
            ("flow('a", 5..7, "quote"),
            ("mesured", 0..7, "mesured"),
            ("1 $ 2", 2..3, "`$`"),
            ("1..2", 0..4, "1..2"),
        ] {
            let wrong = parse(text).expect_err(text);
            assert_eq!(wrong.place, place, "{text}: {wrong}");
            assert!(wrong.message.contains(says), "{text}: {wrong}");
        }
        let wrong = parse("1 + flow('b','x')").expect("well formed").value(&Table).expect_err("no flow");
        assert_eq!(wrong.place, 4..17);
        assert!(parse(&"(".repeat(10_000)).is_err());
        assert!(parse(&"-".repeat(10_000)).is_err());
        // A chain is as deep as it is long.
        let chain = |n: usize| "1+".repeat(n) + "1";
        assert_eq!(of(&chain(1500)), Some(1501.0));
        let wrong = parse(&chain(300_000)).expect_err("too long");
        assert!(wrong.message.contains("more than 2000 values"), "{wrong}");
        assert!(parse(&format!("{}1{}", "abs(".repeat(3000), ")".repeat(3000))).is_err());
    }
}
