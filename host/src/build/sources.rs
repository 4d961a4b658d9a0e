//! The digest of the sources that make a first-party connector, so that a stale built file is noticed.
