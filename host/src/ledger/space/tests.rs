use super::*;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
const ROOM: Room = Room {
    free_bytes_min: 100 * MIB,
    reserve_bytes: 2 * MIB,
};

/// A disk with so many MiB free, as far as the space can tell.
fn disk(free_mib: u64) -> (TempDir, Arc<AtomicU64>, Arc<Space>) {
    let dir = tempfile::tempdir().unwrap();
    let free = Arc::new(AtomicU64::new(free_mib * MIB));
    let space = again(&dir, &free);
    (dir, free, space)
}

/// The space as the next start of a host finds it.
fn again(dir: &TempDir, free: &Arc<AtomicU64>) -> Arc<Space> {
    let read = Arc::clone(free);
    Space::with(dir.path(), ROOM, Box::new(move || Ok(read.load(Ordering::SeqCst))))
}

fn reserve(dir: &TempDir) -> Option<u64> {
    dir.path().join(FILE).metadata().ok().map(|metadata| metadata.len())
}

#[test]
fn what_follows_from_how_much_is_free() {
    let (open, closed) = (false, true);
    for (free_mib, was, has_reserve, is, reserve) in [
        (500, open, true, open, Reserve::Leave),
        (100, open, true, open, Reserve::Leave),
        (99, open, true, closed, Reserve::Leave),
        (109, closed, true, closed, Reserve::Leave),
        (110, closed, true, open, Reserve::Leave),
        (1, closed, true, closed, Reserve::Leave),
        (0, open, true, closed, Reserve::GiveUp),
        (0, closed, false, closed, Reserve::Leave),
        (111, closed, false, closed, Reserve::Leave),
        (112, closed, false, open, Reserve::Make),
        (112, open, false, open, Reserve::Make),
        (111, open, false, closed, Reserve::Leave),
    ] {
        let judged = judge(free_mib * MIB, was, has_reserve, &ROOM);
        let expected = Judged { is_closed: is, reserve };
        assert_eq!(
            judged, expected,
            "{free_mib} MiB, closed: {was}, reserve: {has_reserve}"
        );
    }
    assert_eq!(
        judge(MIB - 1, open, true, &ROOM).reserve,
        Reserve::GiveUp,
        "just before it is full"
    );
}

#[test]
fn events_are_refused_from_the_watermark_on_and_taken_again_a_little_above_it() {
    let (_dir, free, space) = disk(100 * 1024);
    for (free_mib, is_open) in [(100, true), (99, false), (101, false), (110, true), (100, true)] {
        free.store(free_mib * MIB, Ordering::SeqCst);
        assert_eq!(space.look().is_ok(), is_open, "{free_mib} MiB");
    }
    free.store(7 * MIB, Ordering::SeqCst);
    let said = space.look().unwrap_err();
    assert!(said.is_unavailable(), "{said}");
    assert!(
        said.to_string()
            .contains("has 7 MiB free, and new events are taken in from 110 MiB on"),
        "{said}"
    );
}

#[test]
fn the_reserve_is_real_private_and_given_up_once() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (dir, free, space) = disk(500);
    let there = dir.path().join(FILE).metadata().unwrap();
    assert_eq!(
        (there.len(), there.permissions().mode() & 0o777),
        (ROOM.reserve_bytes, 0o600)
    );
    assert!(there.blocks() * 512 >= ROOM.reserve_bytes, "a hole keeps no room");
    assert!(!space.give_up_reserve(), "the disk is not full: it would help nobody");
    free.store(5 * MIB, Ordering::SeqCst);
    assert_eq!([space.give_up_reserve(), space.give_up_reserve()], [true, false]);
    assert_eq!(reserve(&dir), None);
}

#[test]
fn after_a_full_disk_nothing_opens_before_there_is_a_reserve_again() {
    let (dir, free, space) = disk(500);
    free.store(0, Ordering::SeqCst);
    space.tend();
    assert_eq!(reserve(&dir), None, "given up before anything fails");
    free.store(111 * MIB, Ordering::SeqCst);
    space.tend();
    assert!(space.look().is_err() && reserve(&dir).is_none());
    free.store(112 * MIB, Ordering::SeqCst);
    assert!(space.look().is_err(), "an event does not wait for it to be made");
    space.tend();
    assert!(space.look().is_ok());
    assert_eq!(reserve(&dir), Some(ROOM.reserve_bytes));
}

#[test]
fn a_host_that_starts_on_a_full_disk_makes_room_for_itself() {
    let (dir, free, space) = disk(500);
    drop(space);
    free.store(0, Ordering::SeqCst);
    let space = again(&dir, &free);
    assert!(reserve(&dir).is_none() && space.look().is_err());
}

#[test]
fn another_size_is_made_anew_and_the_same_is_kept() {
    let (dir, free, space) = disk(500);
    let made = dir.path().join(FILE).metadata().unwrap().modified().unwrap();
    drop(space);
    drop(again(&dir, &free));
    assert_eq!(dir.path().join(FILE).metadata().unwrap().modified().unwrap(), made);
    std::fs::write(dir.path().join(FILE), "half").unwrap();
    drop(again(&dir, &free));
    assert_eq!(reserve(&dir), Some(ROOM.reserve_bytes));
}

#[test]
fn who_cannot_count_refuses_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let space = Space::with(dir.path(), ROOM, Box::new(|| Err(io::Error::other("no such call"))));
    assert!(space.look().is_ok());
}

#[test]
fn what_the_system_says_is_bytes() {
    let dir = tempfile::tempdir().unwrap();
    assert!(free_bytes(dir.path()).unwrap() > MIB);
}
