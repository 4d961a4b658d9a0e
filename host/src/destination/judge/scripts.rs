//! Services that are described by examples: what their scripts do is counted as everywhere.

use super::super::scripted::{Reaction, key_in};
use super::super::service::Dedup;
use super::{Judge, Said, Seen};

impl Judge {
    /// Does what a script says, and says it.
    pub fn scripted(&mut self, service: &str, reaction: &Reaction, key: Option<&str>, body: &[u8]) -> Said {
        let spoken = match reaction {
            Reaction::Read(spoken) => spoken,
            Reaction::Write(spoken) => match self.commit(service, key, body) {
                Ok(done) if done.status < 300 => spoken,
                Ok(refused) => return refused,
                Err(error) => {
                    return Said {
                        status: 500,
                        body: format!("{{\"error\":\"the journal cannot be written: {:?}\"}}", error.kind()),
                    };
                }
            },
            Reaction::Lookup { found, absent } => {
                let exists = self.books.get(service).is_some_and(|book| !book.effects.is_empty());
                if exists { found } else { absent }
            }
        };
        Said {
            status: spoken.status,
            body: spoken.with_key(&self.key_seen(service).unwrap_or_default()),
        }
    }

    /// The key that a service saw last, wherever a request carried it.
    fn key_seen(&self, service: &str) -> Option<String> {
        let header_or_field = match &self.books.get(service)?.service.dedup {
            Dedup::Header(_) | Dedup::Field(_) => true,
            Dedup::None | Dedup::Natural(_) | Dedup::Repeat => false,
        };
        let of_service = self.seen.iter().rev().filter(|seen| seen.service == service);
        of_service.into_iter().find_map(|seen| {
            let told = seen.key.clone().filter(|_| header_or_field);
            let headers = seen.headers.iter().map(|(_, value)| value.clone());
            let texts = headers.chain([seen.text(), seen.path.clone()]);
            told.or_else(|| texts.into_iter().find_map(|text| key_in(&text).map(str::to_owned)))
        })
    }

    /// How many whole requests came that could have changed something.
    pub fn writes_of(&self, service: &str) -> u64 {
        let Some(book) = self.books.get(service) else { return 0 };
        let writes =
            |seen: &&Seen| seen.service == service && seen.whole && book.service.is_write(&seen.method, &seen.path);
        self.seen.iter().filter(writes).count() as u64
    }
}
