//! The judge is judged here, byte by byte, with a client that knows no HTTP.

mod behaviours;
mod control;
mod counting;
mod providers;
mod raw;
mod rules;
