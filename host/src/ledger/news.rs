//! What hosts that share one ledger tell each other, in the commit of what makes the news. Whoever hears it reads what is
//! there: news say that there is something to read, and never what.

use super::Result;
use super::database::{Conn, Value};
use super::postgres;
use oncegate_domain::id::Id;
use std::fmt;

/// Something that another host (or this one) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Flows, connectors or connections were changed.
    Catalog,
    /// A connection was paused or resumed, or a host found out something about one.
    Gates,
    /// There are due steps of this epoch that its own host did not make so.
    Work {
        /// Whose.
        epoch: i64,
    },
    /// Somebody at another host waits for the end of a run.
    Awaited {
        /// Which.
        run: Id,
    },
    /// A run for which somebody waits came to its end, or to a person.
    Ended {
        /// Which.
        run: Id,
    },
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            News::Catalog => f.write_str("catalog"),
            News::Gates => f.write_str("gates"),
            News::Work { epoch } => write!(f, "work {epoch}"),
            News::Awaited { run } => write!(f, "awaited {run}"),
            News::Ended { run } => write!(f, "ended {run}"),
        }
    }
}

impl News {
    /// What was told; `None`: a newer host says it, and this one does not understand.
    pub(super) fn understood(text: &str) -> Option<News> {
        let (topic, about) = text.split_once(' ').unwrap_or((text, ""));
        match topic {
            "catalog" => Some(News::Catalog),
            "gates" => Some(News::Gates),
            "work" => about.parse().ok().map(|epoch| News::Work { epoch }),
            "awaited" => about.parse().ok().map(|run| News::Awaited { run }),
            "ended" => about.parse().ok().map(|run| News::Ended { run }),
            _ => None,
        }
    }
}

/// Tells all hosts, once this transaction is committed. Where nobody shares the ledger there is nobody to tell.
pub(super) async fn tell(conn: &mut Conn<'_>, news: News) -> Result<()> {
    const CATALOG: &str = "UPDATE news SET catalog = catalog + 1";
    const PAUSES: &str = "UPDATE news SET pauses = pauses + 1";
    if !conn.is_postgres() {
        return Ok(());
    }
    let counted = match news {
        News::Catalog => Some(CATALOG),
        News::Gates => Some(PAUSES),
        // Each has somebody who looks by himself now and then.
        News::Work { .. } | News::Awaited { .. } | News::Ended { .. } => None,
    };
    if let Some(counted) = counted {
        conn.query(counted, Vec::new()).await?;
    }
    conn.query(postgres::NOTIFY, vec![Value::text(news.to_string())])
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood_and_what_a_newer_host_tells_is_passed_over() {
        let run = Id::from_bytes([7; 16]);
        for news in [
            News::Catalog,
            News::Gates,
            News::Work { epoch: 17 },
            News::Awaited { run },
            News::Ended { run },
        ] {
            assert_eq!(News::understood(&news.to_string()), Some(news));
        }
        for text in ["", "weather", "work", "work today", "ended nowhere"] {
            assert_eq!(News::understood(text), None, "{text}");
        }
    }
}
