//! Between stored cells and the domain's words. A cell that does not decode is an error that names its row.

use super::LedgerError;
use super::database::Value;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::{State, Step};
use serde::Serialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::borrow::Cow;

/// A stored value.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    /// If it holds bytes.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Cell::Bytes(bytes) => Some(bytes),
            Cell::Null | Cell::Int(_) | Cell::Text(_) => None,
        }
    }
}

/// A row that is read cell by cell, in the order of the SELECT.
#[derive(Debug)]
pub(super) struct Row {
    cells: std::vec::IntoIter<Cell>,
    read: usize,
    name: String,
}

/// Why a row does not decode.
#[derive(Debug)]
pub(super) struct Bad(String);

type Read<T> = Result<T, Bad>;

impl Row {
    /// The first cell names the row in errors.
    pub(super) fn new(cells: Vec<Cell>) -> Self {
        Row {
            cells: cells.into_iter(),
            read: 0,
            name: String::new(),
        }
    }

    /// Decodes a row of `table`; its first cell is what names it.
    pub(super) fn decode<T>(
        mut self,
        table: &'static str,
        read: impl FnOnce(&mut Row) -> Read<T>,
    ) -> Result<T, LedgerError> {
        self.name = match self.cells.as_slice().first() {
            Some(Cell::Int(number)) => number.to_string(),
            Some(Cell::Text(text)) => text.clone(),
            Some(Cell::Bytes(bytes)) => id_of(bytes).map(|id| id.to_string()).unwrap_or_default(),
            Some(Cell::Null) | None => String::new(),
        };
        read(&mut self).map_err(|Bad(why)| LedgerError::Corrupt {
            table,
            id: self.name,
            why,
        })
    }

    fn next(&mut self) -> Read<Cell> {
        self.read += 1;
        self.cells.next().ok_or_else(|| self.bad("is missing"))
    }

    /// The values as they are, for those who do not go by what they mean.
    pub(super) fn into_cells(self) -> Vec<Cell> {
        self.cells.collect()
    }

    /// Passes over a cell.
    pub(super) fn skip(&mut self) -> Read<()> {
        self.next().map(drop)
    }

    /// Why the cell read last is not what it should be.
    pub(super) fn bad(&self, why: impl std::fmt::Display) -> Bad {
        Bad(format!("value {} {why}", self.read))
    }

    pub(super) fn opt_int(&mut self) -> Read<Option<i64>> {
        match self.next()? {
            Cell::Null => Ok(None),
            Cell::Int(value) => Ok(Some(value)),
            Cell::Text(_) | Cell::Bytes(_) => Err(self.bad("is not a number")),
        }
    }

    pub(super) fn int(&mut self) -> Read<i64> {
        self.opt_int()?.ok_or_else(|| self.bad("is missing"))
    }

    pub(super) fn small<T: TryFrom<i64>>(&mut self) -> Read<T> {
        T::try_from(self.int()?).map_err(|_| self.bad("is out of range"))
    }

    pub(super) fn flag(&mut self) -> Read<bool> {
        match self.int()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.bad("is neither 0 nor 1")),
        }
    }

    pub(super) fn opt_text(&mut self) -> Read<Option<String>> {
        match self.next()? {
            Cell::Null => Ok(None),
            Cell::Text(value) => Ok(Some(value)),
            Cell::Int(_) | Cell::Bytes(_) => Err(self.bad("is not text")),
        }
    }

    pub(super) fn text(&mut self) -> Read<String> {
        self.opt_text()?.ok_or_else(|| self.bad("is missing"))
    }

    pub(super) fn opt_bytes(&mut self) -> Read<Option<Vec<u8>>> {
        match self.next()? {
            Cell::Null => Ok(None),
            Cell::Bytes(value) => Ok(Some(value)),
            Cell::Int(_) | Cell::Text(_) => Err(self.bad("is not bytes")),
        }
    }

    pub(super) fn bytes(&mut self) -> Read<Vec<u8>> {
        self.opt_bytes()?.ok_or_else(|| self.bad("is missing"))
    }

    pub(super) fn opt_digest(&mut self) -> Read<Option<[u8; 32]>> {
        let bytes = self.opt_bytes()?;
        bytes
            .map(|bytes| bytes.try_into().map_err(|_| self.bad("is not 32 bytes")))
            .transpose()
    }

    pub(super) fn digest(&mut self) -> Read<[u8; 32]> {
        self.opt_digest()?.ok_or_else(|| self.bad("is missing"))
    }

    pub(super) fn opt_id(&mut self) -> Read<Option<Id>> {
        let bytes = self.opt_bytes()?;
        bytes
            .map(|bytes| id_of(&bytes).ok_or_else(|| self.bad("is not an id")))
            .transpose()
    }

    pub(super) fn id(&mut self) -> Read<Id> {
        self.opt_id()?.ok_or_else(|| self.bad("is missing"))
    }

    /// One of the words of an enum without fields.
    pub(super) fn word<T: DeserializeOwned>(&mut self) -> Read<T> {
        let text = self.text()?;
        word(&text).ok_or_else(|| self.bad(format_args!("is {text:?}, which is none of the known words")))
    }

    pub(super) fn opt_json<T: DeserializeOwned>(&mut self) -> Read<Option<T>> {
        let text = self.opt_text()?;
        text.map(|text| {
            serde_json::from_str(&text).map_err(|error| self.bad(format_args!("is not as written: {error}")))
        })
        .transpose()
    }

    pub(super) fn json<T: DeserializeOwned>(&mut self) -> Read<T> {
        self.opt_json()?.ok_or_else(|| self.bad("is missing"))
    }

    /// A step's standing with the two columns that repeat parts of it: `standing, state, in_doubt_since_ms`.
    pub(super) fn standing(&mut self) -> Read<Step> {
        let step: Step = self.json()?;
        let (state, since_ms) = (self.text()?, self.opt_int()?);
        if state != step.state.as_str() || since_ms != step.in_doubt_since_ms() {
            return Err(self.bad("and the state beside it do not fit the standing"));
        }
        Ok(step)
    }
}

fn id_of(bytes: &[u8]) -> Option<Id> {
    bytes.try_into().ok().map(Id::from_bytes)
}

/// The value that a word stands for.
pub(super) fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    let words: StrDeserializer<'_, WordError> = text.into_deserializer();
    T::deserialize(words).ok()
}

/// For a column of JSON text.
pub(super) fn json_text<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("the ledger's records have text keys and no failing parts")
}

/// A run's state as stored.
pub(super) fn run_state_word(state: run::State) -> &'static str {
    match state {
        run::State::Pending => "pending",
        run::State::Processing => "processing",
        run::State::Retrying => "retrying",
        run::State::Waiting => "waiting",
        run::State::Completed => "completed",
        run::State::Failed => "failed",
        run::State::NeedsReview => "needs_review",
        run::State::Cancelling => "cancelling",
        run::State::Cancelled => "cancelled",
    }
}

/// Nothing will happen to the run any more.
pub(super) fn run_is_final(state: run::State) -> bool {
    match state {
        run::State::Completed | run::State::Failed | run::State::Cancelled => true,
        run::State::Pending
        | run::State::Processing
        | run::State::Retrying
        | run::State::Waiting
        | run::State::NeedsReview
        | run::State::Cancelling => false,
    }
}

/// Why a step waits, where it does.
pub(super) fn wait_reason(step: &Step) -> Option<&'static str> {
    match step.state {
        State::Retrying { reason, .. } => Some(reason.as_str()),
        State::Waiting { reason, .. } => Some(reason.as_str()),
        State::Pending
        | State::Processing
        | State::Completed
        | State::Failed
        | State::NeedsReview { .. }
        | State::Skipped { .. }
        | State::Cancelling { .. }
        | State::Cancelled => None,
    }
}

/// When somebody should look at a step. One that only a person or a predecessor moves has no due time, whatever the
/// caller says; one that can go on always has one, or it would be forgotten by a restart.
pub(super) fn due_ms(step: &Step, given_ms: Option<i64>, now_ms: i64) -> Option<i64> {
    match step.state {
        State::Completed | State::Failed | State::Skipped { .. } | State::Cancelled | State::NeedsReview { .. } => None,
        State::Pending => given_ms.or(step.due_ms()),
        State::Processing | State::Retrying { .. } | State::Waiting { .. } | State::Cancelling { .. } => {
            Some(given_ms.or(step.due_ms()).unwrap_or(now_ms))
        }
    }
}

/// Values for placeholders, named by kind. Text and bytes are borrowed where they can be: a row is bound at once.
impl<'a> Value<'a> {
    pub(super) fn int(value: i64) -> Self {
        Value::Int(Some(value))
    }

    pub(super) fn flag(value: bool) -> Self {
        Value::Int(Some(value.into()))
    }

    pub(super) fn number(value: u32) -> Self {
        Value::Int(Some(value.into()))
    }

    pub(super) fn text(value: impl Into<Cow<'a, str>>) -> Self {
        Value::Text(Some(value.into()))
    }

    pub(super) fn opt_text<T: Into<Cow<'a, str>>>(value: Option<T>) -> Self {
        Value::Text(value.map(Into::into))
    }

    pub(super) fn bytes(value: &'a [u8]) -> Self {
        Value::Bytes(Some(Cow::Borrowed(value)))
    }

    pub(super) fn opt_bytes(value: Option<&'a [u8]>) -> Self {
        Value::Bytes(value.map(Cow::Borrowed))
    }

    pub(super) fn id(value: Id) -> Self {
        Value::Id(Some(value.to_bytes()))
    }

    pub(super) fn opt_id(value: Option<Id>) -> Self {
        Value::Id(value.map(Id::to_bytes))
    }

    pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> Self {
        Value::Text(Some(json_text(value).into()))
    }

    pub(super) fn opt_json<T: Serialize>(value: Option<&T>) -> Self {
        Value::Text(value.map(|value| json_text(value).into()))
    }
}
