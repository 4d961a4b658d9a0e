//! Bodies on their way in: how many bytes of them are held at the same time, and how many may take their time.
//!
//! A stranger can send a body byte by byte. Whoever is proven by the head alone (a bearer token) waits for nobody. For the
//! others the first moment is free, and in it nearly every honest body is whole, so that slow ones never stand in their way.
//! Who takes longer needs one of few slow places: one source has a few of them, one hook a part, and all together no more
//! than half of the bytes, so that slow strangers keep out only each other. All bodies to one hook, slow or not, leave a
//! quarter of the bytes to those to the others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// How much may be on its way in.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Bytes of all bodies, from their first byte until their event is stored or refused.
    pub bytes_max: usize,
    /// Of these, bytes of bodies to one hook.
    pub hook_bytes_max: usize,
    /// And bytes of slow bodies of strangers.
    pub slow_bytes_max: usize,
    /// Slow bodies of strangers.
    pub slow_max: usize,
    /// Of these, to one hook.
    pub slow_per_hook_max: usize,
    /// And from one source.
    pub slow_per_source_max: usize,
}

/// There is no room for more of this body now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// What is on its way in.
pub struct Arriving {
    room: Room,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    bytes: usize,
    bytes_by_hook: HashMap<String, usize>,
    slow_bytes: usize,
    slow: usize,
    slow_by_hook: HashMap<String, usize>,
    slow_by_source: HashMap<IpAddr, usize>,
}

/// The room that one body takes, given back when it goes.
pub struct Held {
    arriving: Arc<Arriving>,
    hook: String,
    bytes: usize,
    slow: Option<Stranger>,
}

/// Whose body it is, as long as nothing proves its sender.
#[derive(Clone, Debug)]
pub struct Stranger {
    /// The hook's path.
    pub hook: String,
    /// As whom the sender counts; see `source::group`.
    pub source: IpAddr,
}

impl Arriving {
    /// Nothing is on its way yet.
    pub fn new(room: Room) -> Arc<Self> {
        Arc::new(Self {
            room,
            counts: Mutex::default(),
        })
    }

    /// A body to this hook, of which nothing has come yet.
    pub fn hold(self: &Arc<Self>, hook: &str) -> Held {
        Held {
            arriving: Arc::clone(self),
            hook: hook.to_owned(),
            bytes: 0,
            slow: None,
        }
    }

    fn counted<T>(&self, count: impl FnOnce(&mut Counts) -> T) -> T {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Held {
    /// Takes room for more bytes.
    ///
    /// # Errors
    /// There is none; nothing was taken.
    pub fn grow(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let (room, is_slow) = (self.arriving.room, self.slow.is_some());
        self.arriving.counted(|counts| {
            let slow = if is_slow { bytes } else { 0 };
            let of_hook = counts.bytes_by_hook.get(&self.hook).copied().unwrap_or_default();
            let is_full = counts.bytes + bytes > room.bytes_max
                || of_hook + bytes > room.hook_bytes_max
                || counts.slow_bytes + slow > room.slow_bytes_max;
            if is_full {
                return Err(NoRoom);
            }
            counts.bytes += bytes;
            counts.slow_bytes += slow;
            match counts.bytes_by_hook.get_mut(&self.hook) {
                Some(of_hook) => *of_hook += bytes,
                None => drop(counts.bytes_by_hook.insert(self.hook.clone(), bytes)),
            }
            Ok(())
        })?;
        self.bytes += bytes;
        Ok(())
    }

    /// From now on it is one of the slow ones.
    ///
    /// # Errors
    /// There is no place for one more of this hook, this source, or at all.
    pub fn slow_down(&mut self, stranger: &Stranger) -> Result<(), NoRoom> {
        if self.slow.is_some() {
            return Ok(());
        }
        let (room, bytes) = (self.arriving.room, self.bytes);
        self.arriving.counted(|counts| {
            let hook = counts.slow_by_hook.get(&stranger.hook).copied().unwrap_or_default();
            let source = counts.slow_by_source.get(&stranger.source).copied().unwrap_or_default();
            let is_full = counts.slow >= room.slow_max
                || hook >= room.slow_per_hook_max
                || source >= room.slow_per_source_max
                || counts.slow_bytes + bytes > room.slow_bytes_max;
            if is_full {
                return Err(NoRoom);
            }
            counts.slow += 1;
            counts.slow_bytes += bytes;
            counts.slow_by_hook.insert(stranger.hook.clone(), hook + 1);
            counts.slow_by_source.insert(stranger.source, source + 1);
            Ok(())
        })?;
        self.slow = Some(stranger.clone());
        Ok(())
    }

    /// All of it is there: it keeps its bytes, and its slow place is another's.
    pub fn whole(&mut self) {
        let Some(stranger) = self.slow.take() else { return };
        self.arriving.counted(|counts| {
            counts.slow -= 1;
            counts.slow_bytes -= self.bytes;
            less(&mut counts.slow_by_hook, stranger.hook, 1);
            less(&mut counts.slow_by_source, stranger.source, 1);
        });
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.whole();
        let (hook, bytes) = (std::mem::take(&mut self.hook), self.bytes);
        self.arriving.counted(|counts| {
            counts.bytes -= bytes;
            less(&mut counts.bytes_by_hook, hook, bytes);
        });
    }
}

/// Who has none left is forgotten: sources are many.
fn less<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: K, by: usize) {
    if let Entry::Occupied(mut entry) = counts.entry(key) {
        match entry.get().saturating_sub(by) {
            0 => drop(entry.remove()),
            left => *entry.get_mut() = left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const ROOM: Room = Room {
        bytes_max: 100,
        hook_bytes_max: 75,
        slow_bytes_max: 50,
        slow_max: 4,
        slow_per_hook_max: 3,
        slow_per_source_max: 2,
    };

    fn stranger(hook: &str, last: u8) -> Stranger {
        Stranger {
            hook: hook.to_owned(),
            source: Ipv4Addr::new(192, 0, 2, last).into(),
        }
    }

    #[test]
    fn slow_strangers_keep_out_only_each_other() {
        let arriving = Arriving::new(ROOM);
        let slow = |hook: &str, last: u8| {
            let mut held = arriving.hold(hook);
            held.slow_down(&stranger(hook, last)).map(|()| held)
        };
        let mut held = vec![slow("leads", 1).unwrap(), slow("leads", 1).unwrap()];
        assert!(
            slow("leads", 1).is_err() && slow("orders", 1).is_err(),
            "one source has two"
        );
        held.push(slow("leads", 2).unwrap());
        assert!(slow("leads", 3).is_err(), "one hook has three");
        held.push(slow("orders", 3).unwrap());
        assert!(slow("orders", 4).is_err(), "all have four");
        assert!(
            arriving.hold("leads").grow(75).is_ok(),
            "who is not slow is not concerned"
        );
        held.pop();
        assert!(slow("orders", 4).is_ok());
        held[0].whole();
        assert!(slow("orders", 1).is_ok(), "one that is whole is not slow any more");
        drop(held);
        arriving.counted(|counts| {
            assert_eq!((counts.bytes, counts.slow, counts.slow_bytes), (0, 0, 0));
            assert!(counts.bytes_by_hook.is_empty());
            assert!(counts.slow_by_hook.is_empty() && counts.slow_by_source.is_empty());
        });
    }

    #[test]
    fn all_bodies_together_have_so_many_bytes_and_slow_ones_half_of_them() {
        let arriving = Arriving::new(ROOM);
        let mut slow = arriving.hold("leads");
        slow.grow(30).unwrap();
        slow.slow_down(&stranger("leads", 1)).unwrap();
        assert_eq!((slow.grow(20), slow.grow(1)), (Ok(()), Err(NoRoom)));
        let mut quick = arriving.hold("orders");
        assert_eq!((quick.grow(50), quick.grow(1)), (Ok(()), Err(NoRoom)));
        assert_eq!(quick.slow_down(&stranger("leads", 2)), Err(NoRoom));
        slow.whole();
        assert_eq!(quick.slow_down(&stranger("leads", 2)), Ok(()));
        drop(slow);
        assert_eq!(arriving.hold("orders").grow(25), Ok(()));
    }

    #[test]
    fn bodies_to_one_hook_leave_room_for_those_to_another() {
        let arriving = Arriving::new(ROOM);
        let mut flood = vec![arriving.hold("leads"), arriving.hold("leads")];
        assert_eq!((flood[0].grow(40), flood[1].grow(35)), (Ok(()), Ok(())));
        assert_eq!(arriving.hold("leads").grow(1), Err(NoRoom));
        let mut other = arriving.hold("orders");
        assert_eq!((other.grow(25), other.grow(1)), (Ok(()), Err(NoRoom)));
        flood.pop();
        assert_eq!(arriving.hold("leads").grow(35), Ok(()));
    }
}
