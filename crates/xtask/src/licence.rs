//! Licence expressions (SPDX): whether a set of allowed licences satisfies one.

/// Whether the licences for which `allowed` is true satisfy `expression`: one side of each OR, both sides of each AND.
/// A `/` between two licences, an old spelling, is an OR. `WITH` an exception only widens what a licence permits.
///
/// # Errors
/// When the expression is not one.
pub(crate) fn satisfied(expression: &str, allowed: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (value, rest) = either(&words, allowed)?;
    if rest.is_empty() { Ok(value) } else { Err(format!("`{expression}` goes on after its end")) }
}

type Parsed<'a, 'b> = Result<(bool, &'a [&'b str]), String>;

fn either<'a, 'b>(words: &'a [&'b str], allowed: &dyn Fn(&str) -> bool) -> Parsed<'a, 'b> {
    let (mut value, mut rest) = both(words, allowed)?;
    while let ["OR", tail @ ..] = rest {
        let (right, after) = both(tail, allowed)?;
        value |= right;
        rest = after;
    }
    Ok((value, rest))
}

fn both<'a, 'b>(words: &'a [&'b str], allowed: &dyn Fn(&str) -> bool) -> Parsed<'a, 'b> {
    let (mut value, mut rest) = one(words, allowed)?;
    while let ["AND", tail @ ..] = rest {
        let (right, after) = one(tail, allowed)?;
        value &= right;
        rest = after;
    }
    Ok((value, rest))
}

fn one<'a, 'b>(words: &'a [&'b str], allowed: &dyn Fn(&str) -> bool) -> Parsed<'a, 'b> {
    match words {
        ["(", inside @ ..] => match either(inside, allowed)? {
            (value, [")", rest @ ..]) => Ok((value, rest)),
            _ => Err("a parenthesis is not closed".to_owned()),
        },
        [] | [")" | "AND" | "OR" | "WITH", ..] => Err("a licence is missing".to_owned()),
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => Ok((allowed(licence), rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = |l: &str| ["MIT", "Apache-2.0", "Unicode-3.0"].contains(&l);
        for (expression, expected) in [
            ("MIT", Ok(true)),
            ("GPL-3.0", Ok(false)),
            ("GPL-3.0 OR MIT", Ok(true)),
            ("MIT/GPL-3.0", Ok(true)),
            ("MIT AND GPL-3.0", Ok(false)),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", Ok(true)),
            ("MIT OR GPL-3.0 AND BSL-1.0", Ok(true)),
            ("(MIT OR GPL-3.0) AND BSL-1.0", Ok(false)),
            ("Apache-2.0 WITH LLVM-exception", Ok(true)),
            ("GPL-2.0 WITH Classpath-exception-2.0 OR GPL-3.0", Ok(false)),
        ] {
            assert_eq!(satisfied(expression, &allowed), expected, "{expression}");
        }
        for broken in ["", "OR MIT", "MIT OR", "(MIT", "MIT)", "MIT MIT"] {
            assert!(satisfied(broken, &allowed).is_err(), "{broken}");
        }
    }
}
