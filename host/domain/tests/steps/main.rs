//! What follows for a step: the tables of DESIGN sections 3 to 7 as single cases, and whole sequences of attempts.
#![allow(clippy::unwrap_used)]

mod doubt;
mod follow;
mod forgotten;
mod illegal;
mod person;
mod play;
mod sequences;
mod sticks;
mod text;
mod world;
