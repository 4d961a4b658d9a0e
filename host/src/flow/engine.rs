//! The template engine as this language uses it: expressions only, a short list of filters and tests, no functions, no
//! clock, no randomness, no loader, bounded by fuel.

use super::convert::to_engine;
use minijinja::value::Value as Engine;
use minijinja::{Environment, Error, ErrorKind, Expression, State, UndefinedBehavior, filters, tests};
use oncegate_domain::limits::{INPUT_BYTES_MAX, TEMPLATE_FUEL_MAX};
use std::sync::LazyLock;

/// What may follow a `|`.
pub(super) const FILTERS: [&str; 24] = [
    "abs",
    "capitalize",
    "default",
    "first",
    "float",
    "int",
    "join",
    "json",
    "last",
    "length",
    "lower",
    "map",
    "max",
    "min",
    "replace",
    "reverse",
    "round",
    "selectattr",
    "sort",
    "split",
    "string",
    "sum",
    "trim",
    "upper",
];

/// What may follow an `is`.
pub(super) const TESTS: [&str; 18] = [
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "even",
    "gt",
    "integer",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "undefined",
];

/// What the host puts behind a path so that the engine cannot compare or compute by accident: it orders values of
/// different kinds by kind (any text is greater than any number), and multiplies text by repeating it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs {needed}")]
pub(super) struct Guard {
    /// Index of the path in its expression.
    pub(super) path: usize,
    /// What is needed there.
    pub(super) needed: Needed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needed {
    /// A number, or nothing at all (for `==`).
    NumberIfAny,
    Number,
    Text,
    /// Anything, but not nothing.
    Something,
}

impl Needed {
    pub(super) fn filter(self) -> &'static str {
        match self {
            Needed::NumberIfAny => "_number_if_any",
            Needed::Number => "_number",
            Needed::Text => "_text",
            Needed::Something => "_something",
        }
    }
}

impl std::fmt::Display for Needed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Needed::NumberIfAny | Needed::Number => "a number",
            Needed::Text => "a text",
            Needed::Something => "a value",
        })
    }
}

/// A compiled expression; needs nothing but its values.
pub(super) type Compiled = Expression<'static, 'static>;

/// For values: what is missing is an error as soon as it is used for more than a question.
static VALUES: LazyLock<Environment<'static>> = LazyLock::new(|| environment(UndefinedBehavior::SemiStrict));

/// For `when`: what is missing is false.
static CONDITIONS: LazyLock<Environment<'static>> = LazyLock::new(|| environment(UndefinedBehavior::Chainable));

/// Compiles an expression whose paths have been replaced by names.
pub(super) fn compile(source: String, condition: bool) -> Result<Compiled, Error> {
    let environment: &'static Environment<'static> = if condition { &CONDITIONS } else { &VALUES };
    environment.compile_expression_owned(source)
}

/// Evaluates with these values by name.
pub(super) fn evaluate<'v>(
    code: &Compiled,
    values: impl Iterator<Item = (&'v str, std::borrow::Cow<'v, serde_json::Value>)>,
) -> Result<Engine, Error> {
    code.eval(Engine::from_pairs(
        values.map(|(name, value)| (name, to_engine(&value))),
    ))
}

fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut env = Environment::empty();
    env.set_fuel(Some(TEMPLATE_FUEL_MAX));
    env.set_undefined_behavior(undefined);
    add_filters(&mut env);
    add_tests(&mut env);
    env.add_filter("json", json);
    for needed in [Needed::NumberIfAny, Needed::Number, Needed::Text, Needed::Something] {
        env.add_filter(needed.filter(), move |value: &Engine, path: usize| {
            guard(value, Guard { path, needed })
        });
    }
    env
}

fn add_filters(env: &mut Environment<'static>) {
    env.add_filter("abs", filters::abs);
    env.add_filter("capitalize", filters::capitalize);
    env.add_filter("default", filters::default);
    env.add_filter("first", filters::first);
    env.add_filter("float", filters::float);
    env.add_filter("int", filters::int);
    env.add_filter("join", filters::join);
    env.add_filter("last", filters::last);
    env.add_filter("length", filters::length);
    env.add_filter("lower", filters::lower);
    env.add_filter("map", filters::map);
    env.add_filter("max", filters::max);
    env.add_filter("min", filters::min);
    env.add_filter("replace", filters::replace);
    env.add_filter("reverse", filters::reverse);
    env.add_filter("round", filters::round);
    env.add_filter("selectattr", filters::selectattr);
    env.add_filter("sort", filters::sort);
    env.add_filter("split", filters::split);
    env.add_filter("string", filters::string);
    env.add_filter("sum", filters::sum);
    env.add_filter("trim", filters::trim);
    env.add_filter("upper", filters::upper);
}

fn add_tests(env: &mut Environment<'static>) {
    env.add_test("boolean", tests::is_boolean);
    env.add_test("defined", tests::is_defined);
    env.add_test("divisibleby", tests::is_divisibleby);
    env.add_test("endingwith", tests::is_endingwith);
    env.add_test("eq", tests::is_eq);
    env.add_test("even", tests::is_even);
    env.add_test("gt", tests::is_gt);
    env.add_test("integer", tests::is_integer);
    env.add_test("lt", tests::is_lt);
    env.add_test("mapping", tests::is_mapping);
    env.add_test("ne", tests::is_ne);
    env.add_test("none", tests::is_none);
    env.add_test("number", tests::is_number);
    env.add_test("odd", tests::is_odd);
    env.add_test("sequence", tests::is_sequence);
    env.add_test("startingwith", tests::is_startingwith);
    env.add_test("string", tests::is_string);
    env.add_test("undefined", tests::is_undefined);
}

/// Compact JSON of a value.
fn json(state: &State, value: &Engine) -> Result<String, Error> {
    let mut bytes_left = INPUT_BYTES_MAX;
    let json = super::convert::from_engine(value, &mut bytes_left)
        .map_err(|_| Error::new(ErrorKind::InvalidOperation, "this value has no JSON form"))?;
    let text = json.to_string();
    state.consume_fuel(text.len() as u64 / 16)?;
    Ok(text)
}

fn guard(value: &Engine, guard: Guard) -> Result<Engine, Error> {
    let absent = value.is_undefined() || value.is_none();
    let fits = match guard.needed {
        Needed::NumberIfAny => absent || value.is_number() || value.as_str().is_none(),
        Needed::Number => value.is_number(),
        Needed::Text => value.as_str().is_some(),
        Needed::Something => !absent,
    };
    if fits {
        Ok(value.clone())
    } else {
        Err(Error::new(ErrorKind::InvalidOperation, "a value of another kind is needed").with_source(guard))
    }
}
