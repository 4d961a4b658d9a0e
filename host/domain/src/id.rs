//! Identifiers: time-ordered, made by the host from a time and random bits that are handed in.
