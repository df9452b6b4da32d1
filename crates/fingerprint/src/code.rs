//! A hash of source files that comments, layout and tests do not change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// Source files by their paths.
#[derive(Debug, Default)]
pub struct Code {
    /// The tokens of each file, but for tests and documentation.
    files: BTreeMap<PathBuf, String>,
    /// Modules that exist in tests alone: each without its ending, `src/history/tests`.
    test_modules: Vec<PathBuf>,
}

impl Code {
    /// Adds a file. One that is not made of Rust's tokens counts with all its bytes.
    pub fn add(&mut self, path: &Path, text: &str) {
        let tokens = if path.extension().is_some_and(|ending| ending == "rs") {
            text.parse::<TokenStream>().ok()
        } else {
            None
        };
        let mut kept = String::new();
        match tokens {
            None => text.clone_into(&mut kept),
            Some(tokens) => {
                let mut test_modules = Vec::new();
                keep(tokens, &mut kept, &mut test_modules);
                let folder = folder_of_modules(path);
                self.test_modules.extend(test_modules.into_iter().map(|name| folder.join(name)));
            }
        }
        self.files.insert(path.to_owned(), kept);
    }

    /// The hash of all files but those of test modules: Fowler-Noll-Vo 1a of 128 bits, the first 12
    /// digits.
    #[must_use]
    pub fn version(&self) -> String {
        let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
        let is_test =
            |path: &Path| self.test_modules.iter().any(|module| path.with_extension("").starts_with(module));
        for (path, kept) in self.files.iter().filter(|(path, _)| !is_test(path)) {
            let name = path.to_string_lossy().replace('\\', "/");
            for byte in name.bytes().chain(kept.bytes()) {
                hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
            }
        }
        format!("{:012x}", hash >> 80)
    }
}

/// The directory of the modules that a file declares.
fn folder_of_modules(path: &Path) -> PathBuf {
    let name = path.file_stem().unwrap_or_default();
    if name == "mod" || name == "lib" || name == "main" {
        path.parent().unwrap_or(path).to_owned()
    } else {
        path.with_extension("")
    }
}

/// Writes tokens one after another, without documentation and without items under `#[cfg(test)]`;
/// adds the names of modules among those items.
fn keep(tokens: TokenStream, kept: &mut String, test_modules: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if is_punctuation(&token, '#') {
            let inner = tokens.next_if(|next| is_punctuation(next, '!'));
            if let Some(TokenTree::Group(attribute)) = tokens.next_if(is_brackets) {
                let text = attribute.stream().to_string();
                if text.starts_with("doc =") || text.starts_with("doc=") {
                    continue;
                }
                if inner.is_none() && text.replace(' ', "") == "cfg(test)" {
                    test_modules.extend(skip_item(&mut tokens));
                    continue;
                }
                *kept += if inner.is_some() { "#!" } else { "#" };
                keep_group(&attribute, kept, test_modules);
                continue;
            }
        }
        match token {
            TokenTree::Group(group) => keep_group(&group, kept, test_modules),
            // `&&` is not `& &`.
            TokenTree::Punct(one) if one.spacing() == Spacing::Joint => kept.push(one.as_char()),
            other => {
                *kept += &other.to_string();
                kept.push(' ');
            }
        }
    }
}

fn keep_group(group: &Group, kept: &mut String, test_modules: &mut Vec<String>) {
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    };
    *kept += open;
    keep(group.stream(), kept, test_modules);
    *kept += close;
}

/// Passes over an item, up to its body or its semicolon; the name, if it is a module elsewhere.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) -> Option<String> {
    let mut words = Vec::new();
    for token in tokens {
        match &token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return None,
            end if is_punctuation(end, ';') => break,
            word => words.push(word.to_string()),
        }
    }
    let place = words.iter().position(|word| word == "mod")?;
    words.get(place + 1).cloned()
}

fn is_punctuation(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(one) if one.as_char() == character)
}

fn is_brackets(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
}
