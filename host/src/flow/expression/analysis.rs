//! What an expression names, found before it is compiled: paths (which are replaced by names), filters and tests; and
//! where a guard is needed so that the engine does not compare or compute with what is not a number.

use super::super::engine::{FILTERS, Needed, TESTS};
use super::super::example;
use super::super::lexer::{self, Kind, Token};
use super::super::names::Names;
use super::super::path::Segment;
use super::super::problem::{Problems, mean_or_list};
use super::super::text::Text;
use super::Use;

const WORDS: [&str; 13] = [
    "and", "or", "not", "in", "if", "else", "is", "true", "false", "none", "True", "False", "None",
];

pub(super) struct Analysis {
    pub(super) uses: Vec<Use>,
    pub(super) only_path: bool,
    pub(super) rewritten: String,
    pub(super) joined: Option<usize>,
}

pub(super) fn analyse(
    source: &str,
    offset: usize,
    text: &Text<'_>,
    names: &Names<'_>,
    problems: &mut Problems<'_>,
) -> Option<Analysis> {
    if source.trim().is_empty() {
        problems.error(
            text.place(offset),
            "there is no expression",
            "write what is meant, such as `body.email`",
        );
        return None;
    }
    let tokens = match lexer::tokens(source) {
        Ok((tokens, None)) => tokens,
        Ok((_, Some(at))) => {
            problems.error(
                text.place(offset + at),
                "`}}` has no place in an expression",
                "take it out",
            );
            return None;
        }
        Err(stop) => {
            problems.error(
                text.place(offset + stop.at),
                stop.what,
                "mend the expression; other names than a-z, 0-9 and _ are written `body[\"the name\"]`",
            );
            return None;
        }
    };
    let analyst = Analyst {
        source,
        offset,
        text,
        names,
        tokens: &tokens,
        at: 0,
        uses: Vec::new(),
        rewritten: String::new(),
        copied: 0,
        joined: None,
        failed: false,
    };
    analyst.run(problems)
}

struct Analyst<'a> {
    source: &'a str,
    offset: usize,
    text: &'a Text<'a>,
    names: &'a Names<'a>,
    tokens: &'a [Token],
    at: usize,
    uses: Vec<Use>,
    rewritten: String,
    copied: usize,
    joined: Option<usize>,
    failed: bool,
}

impl Analyst<'_> {
    fn run(mut self, problems: &mut Problems<'_>) -> Option<Analysis> {
        let mut only_path = false;
        while let Some(token) = self.tokens.get(self.at) {
            let word = &self.source[token.at.clone()];
            match (token.kind, word) {
                (Kind::Mark, "|") => self.filter(problems),
                (Kind::Name, "is") => self.test(problems),
                // A name after something that is not a path: `(a or b).name`.
                (Kind::Mark, ".") => self.at += 2,
                (Kind::Name, word) if WORDS.contains(&word) => self.at += 1,
                (Kind::Name, _) if self.word(self.at + 1) == "=" => self.at += 1,
                (Kind::Name, word) if self.word(self.at + 1) == "(" => {
                    let what = format!("there is no function `{word}`");
                    self.wrong(
                        token.at.start,
                        &what,
                        "values are changed by filters: `{{ body.name | upper }}`",
                        problems,
                    );
                    self.at += 1;
                }
                (Kind::Name, _) => {
                    let first = self.at == 0;
                    self.path(problems);
                    only_path = first && self.at == self.tokens.len();
                }
                _ => self.at += 1,
            }
        }
        self.rewritten.push_str(&self.source[self.copied..]);
        let (uses, rewritten, joined) = (self.uses, self.rewritten, self.joined);
        (!self.failed).then_some(Analysis {
            uses,
            only_path,
            rewritten,
            joined,
        })
    }

    fn word(&self, token: usize) -> &str {
        self.tokens
            .get(token)
            .map_or("", |token| &self.source[token.at.clone()])
    }

    fn kind(&self, token: usize) -> Option<Kind> {
        self.tokens.get(token).map(|token| token.kind)
    }

    fn wrong(&mut self, at: usize, what: &str, mend: &str, problems: &mut Problems<'_>) {
        self.failed = true;
        problems.error(self.text.place(self.offset + at), what, mend);
    }

    fn filter(&mut self, problems: &mut Problems<'_>) {
        self.known("filter", &FILTERS, self.at + 1, problems);
        self.at += 2;
    }

    fn test(&mut self, problems: &mut Problems<'_>) {
        let name = self.at + 1 + usize::from(self.word(self.at + 1) == "not");
        self.known("test", &TESTS, name, problems);
        self.at = name + 1;
    }

    fn known(&mut self, what: &str, known: &[&'static str], token: usize, problems: &mut Problems<'_>) {
        // What is no name at all is the engine's to complain about.
        let Some(Kind::Name) = self.kind(token) else { return };
        let name = self.word(token).to_owned();
        if !known.contains(&name.as_str()) || self.word(token + 1) == "." {
            let at = self.tokens[token].at.start;
            let mend = mean_or_list(&name, &format!("{what}s"), known.iter().copied());
            self.wrong(at, &format!("there is no {what} `{name}`"), &mend, problems);
        }
    }

    fn path(&mut self, problems: &mut Problems<'_>) {
        let start = self.at;
        let root = self.word(start).to_owned();
        let mut rest = Vec::new();
        self.at += 1;
        while let Some((segment, tokens)) = self.segment() {
            rest.push(segment);
            self.at += tokens;
        }
        let (from, to) = (self.tokens[start].at.start, self.tokens[self.at - 1].at.end);
        let text = &self.source[from..to];
        if let Some(name) = self.dashed(to) {
            let what = format!("`{text}-{name}` means `{text}` minus `{name}`");
            return self.wrong(
                from,
                &what,
                "a name with a dash is written in brackets: `headers[\"idempotency-key\"]`",
                problems,
            );
        }
        if self.word(self.at) == "(" {
            let what = format!("`{text}(…)` calls a function, and there are none");
            return self.wrong(
                from,
                &what,
                "values are changed by filters: `{{ body.name | upper }}`",
                problems,
            );
        }
        match self.names.path(&root, rest) {
            Ok(path) => {
                let soft =
                    self.word(self.at) == "is" || self.word(self.at) == "|" && self.word(self.at + 1) == "default";
                let (name, at) = (format!("p{}", self.uses.len()), self.text.place(self.offset + from));
                self.rewritten.push_str(&self.source[self.copied..from]);
                self.rewritten.push_str(&name);
                if let Some(needed) = self.guard(start) {
                    self.rewritten
                        .push_str(&format!("|{}({})", needed.filter(), self.uses.len()));
                }
                self.copied = to;
                if matches!(self.word(self.at), "~" | "+") && self.kind(self.at + 1) == Some(Kind::Name) {
                    self.joined.get_or_insert(at);
                }
                let filtered = self.word(self.at) == "|";
                let used = Use {
                    path,
                    text: text.to_owned(),
                    at,
                    soft,
                    filtered,
                    name,
                };
                if let Some(example) = self.names.example {
                    example::check_use(&used, example, problems);
                }
                self.uses.push(used);
            }
            Err((what, mend)) => self.wrong(from, &what, &mend, problems),
        }
    }

    /// The next `.name`, `.0`, `["name"]` or `[0]`, and how many tokens it takes.
    fn segment(&self) -> Option<(Segment, usize)> {
        let (inner, kind) = (self.word(self.at + 1), self.kind(self.at + 1)?);
        match self.word(self.at) {
            "." if kind == Kind::Name => Some((Segment::Field(inner.to_owned()), 2)),
            "." if kind == Kind::Whole => Some((Segment::Index(inner.parse().ok()?), 2)),
            "[" if self.word(self.at + 2) == "]" => match kind {
                Kind::Whole => Some((Segment::Index(inner.parse().ok()?), 3)),
                // An escape in it is left to the engine.
                Kind::Text if !inner.contains('\\') => Some((Segment::Field(inner[1..inner.len() - 1].to_owned()), 3)),
                Kind::Name | Kind::Fraction | Kind::Text | Kind::Mark => None,
            },
            _ => None,
        }
    }

    /// The name behind a dash that touches both sides, if it is not a value of its own: `headers.idempotency-key`.
    fn dashed(&self, end: usize) -> Option<&str> {
        let (dash, name) = (self.tokens.get(self.at)?, self.tokens.get(self.at + 1)?);
        let touching = dash.at.start == end && name.at.start == dash.at.end;
        let word = self.word(self.at + 1);
        (self.word(self.at) == "-" && touching && name.kind == Kind::Name && !Names::is_root(word)).then_some(word)
    }

    /// What the path that began at token `start` and ended before `self.at` must be, by the operators beside it.
    fn guard(&self, start: usize) -> Option<Needed> {
        if matches!(self.word(self.at), "|" | "is" | "." | "[" | "(") {
            return None;
        }
        let before = start.checked_sub(1).map_or("", |token| self.word(token));
        let other_before = start.checked_sub(2).and_then(|token| self.kind(token));
        let sides = [(before, other_before), (self.word(self.at), self.kind(self.at + 1))];
        sides.into_iter().find_map(|(operator, other)| needed(operator, other))
    }
}

fn needed(operator: &str, other: Option<Kind>) -> Option<Needed> {
    let number = matches!(other, Some(Kind::Whole | Kind::Fraction));
    match operator {
        "==" | "!=" if number => Some(Needed::NumberIfAny),
        "<" | "<=" | ">" | ">=" if number => Some(Needed::Number),
        "<" | "<=" | ">" | ">=" if other == Some(Kind::Text) => Some(Needed::Text),
        "<" | "<=" | ">" | ">=" => Some(Needed::Something),
        "*" | "/" | "//" | "%" | "-" | "**" => Some(Needed::Number),
        "+" if number => Some(Needed::Number),
        _ => None,
    }
}
