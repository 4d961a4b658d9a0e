//! Copying a table, page by page, and reading it back.

use super::super::Result;
use super::super::batch::insert_rows;
use super::super::database::{Conn, Sql, Value, WriterConnection};
use super::super::rows::{Cell, Row};
use super::Progress;
use super::mark::{self, is_mark};
use super::sum::Sum;
use super::tables::{Column, Kind, Table};

/// Rows of one page, and bytes of it: what is in memory, and in one transaction.
const ROWS_PER_PAGE_MAX: usize = 1_000;
const BYTES_PER_PAGE_MAX: i64 = 8 << 20;

/// A place in a table: the key of the row before.
type After = Option<Vec<Cell>>;

/// Copies a table; what was read.
pub(super) async fn table(
    source: &mut WriterConnection,
    target: &mut WriterConnection,
    table: &Table,
    from: &str,
    mut sum: Sum,
    say: &mut impl FnMut(Progress<'_>),
) -> Result<Sum> {
    // A migration may have put rows into it.
    let clear = Sql::Built(format!("DELETE FROM {}", table.name).into());
    target.conn().query(clear, Vec::new()).await?;
    let mut after = None;
    loop {
        let page = page(&mut source.conn(), table, &after).await?;
        let Some(last) = page.last() else { return Ok(sum) };
        after = Some(key_of(table, last));
        page.iter().for_each(|row| sum.add(counted(table, row)));
        let rows: Vec<Vec<Value<'_>>> = page
            .into_iter()
            .map(|row| values(table, mark::marked(table, row, from)))
            .collect::<Result<_>>()?;
        target.begin(None).await?;
        match insert_rows(target, &table.name, &table.names(), rows).await {
            Ok(()) => target.commit(None).await?,
            Err(error) => {
                target.rollback().await?;
                return Err(error.into());
            }
        }
        say(Progress::Copied {
            table: &table.name,
            rows: sum.rows,
        });
    }
}

/// Reads a table to its end.
pub(super) async fn read_back(side: &mut WriterConnection, table: &Table, mut sum: Sum) -> Result<Sum> {
    let mut after = None;
    loop {
        let page = page(&mut side.conn(), table, &after).await?;
        let Some(last) = page.last() else { return Ok(sum) };
        after = Some(key_of(table, last));
        page.iter().for_each(|row| sum.add(counted(table, row)));
    }
}

/// The marks of a move are not what is moved.
fn counted<'a>(table: &'a Table, row: &'a [Cell]) -> impl Iterator<Item = &'a Cell> {
    let columns = table.columns.iter().zip(row);
    columns
        .filter(|(column, _)| !is_mark(table, column))
        .map(|(_, cell)| cell)
}

fn key_of(table: &Table, row: &[Cell]) -> Vec<Cell> {
    table.key.iter().map(|place| row[*place].clone()).collect()
}

/// The rows behind `after`, in the order of their keys; none: it was the last.
async fn page(conn: &mut Conn<'_>, table: &Table, after: &After) -> Result<Vec<Vec<Cell>>> {
    let key: Vec<&str> = table
        .key
        .iter()
        .map(|place| table.columns[*place].name.as_str())
        .collect();
    let (key, places) = (key.join(", "), (1..=key.len()).map(|place| format!("?{place}")));
    let (behind, bound) = match after {
        None => (String::new(), Vec::new()),
        Some(after) => {
            let columns = table.key.iter().map(|place| &table.columns[*place]);
            let bound = columns
                .zip(after)
                .map(|(column, cell)| value(table, column, cell.clone()));
            let places = places.collect::<Vec<_>>().join(", ");
            (
                format!("WHERE ({key}) > ({places})"),
                bound.collect::<Result<Vec<_>>>()?,
            )
        }
    };
    let (name, columns) = (&table.name, table.names());
    let sized = format!(
        "SELECT {} FROM {name} {behind} ORDER BY {key} LIMIT {ROWS_PER_PAGE_MAX}",
        size(table)
    );
    let rows = fits(
        &conn
            .query(Sql::Built(sized.into()), bound.clone())
            .await?
            .into_iter()
            .map(Row::into_cells)
            .collect::<Vec<_>>(),
    );
    if rows == 0 {
        return Ok(Vec::new());
    }
    let read = format!("SELECT {columns} FROM {name} {behind} ORDER BY {key} LIMIT {rows}");
    let rows = conn.query(Sql::Built(read.into()), bound).await?;
    Ok(rows.into_iter().map(Row::into_cells).collect())
}

/// How many bytes a row has, as far as it matters: the database tells without reading them.
fn size(table: &Table) -> String {
    let columns = table.columns.iter().filter(|column| column.kind != Kind::Int);
    let sizes = columns.map(|column| format!("COALESCE(octet_length({}), 0)", column.name));
    std::iter::once("0".to_owned())
        .chain(sizes)
        .collect::<Vec<_>>()
        .join(" + ")
}

/// How many of these rows a page takes: at least one.
fn fits(sizes: &[Vec<Cell>]) -> usize {
    let mut bytes = 0;
    let sizes = sizes.iter().map(|row| match row.as_slice() {
        [Cell::Int(size)] => *size,
        _ => 0,
    });
    let fitting = sizes.enumerate().take_while(|(place, size)| {
        bytes += size;
        *place == 0 || bytes <= BYTES_PER_PAGE_MAX
    });
    fitting.count()
}

fn values(table: &Table, row: Vec<Cell>) -> Result<Vec<Value<'static>>> {
    let columns = table.columns.iter().zip(row);
    columns.map(|(column, cell)| value(table, column, cell)).collect()
}

fn value(table: &Table, column: &Column, cell: Cell) -> Result<Value<'static>> {
    match (column.kind, cell) {
        (Kind::Int, Cell::Null) => Ok(Value::Int(None)),
        (Kind::Text, Cell::Null) => Ok(Value::Text(None)),
        (Kind::Bytes, Cell::Null) => Ok(Value::Bytes(None)),
        (Kind::Int, Cell::Int(number)) => Ok(Value::Int(Some(number))),
        (Kind::Text, Cell::Text(text)) => Ok(Value::Text(Some(text.into()))),
        (Kind::Bytes, Cell::Bytes(bytes)) => Ok(Value::Bytes(Some(bytes.into()))),
        (Kind::Int | Kind::Text | Kind::Bytes, cell) => Err(table.corrupt(column, &cell)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_what_fits_and_one_row_whatever_its_size() {
        let sizes = |sizes: &[i64]| -> Vec<Vec<Cell>> { sizes.iter().map(|size| vec![Cell::Int(*size)]).collect() };
        let mib = 1 << 20;
        assert_eq!(fits(&sizes(&[])), 0);
        assert_eq!(fits(&sizes(&[100 * mib, 1])), 1);
        assert_eq!(fits(&sizes(&[mib; 20])), 8);
        assert_eq!(fits(&sizes(&[1, 100 * mib, 1])), 1);
        assert_eq!(fits(&sizes(&[10; 1_000])), 1_000);
    }
}
