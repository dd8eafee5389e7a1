//! The tests of trunkline-sanitize: one binary.
//!
//! Rows of the catalogue of known failures are tests named by their id, a file per family; the laws are properties.

mod a_pairing;
mod a_places;
mod account;
mod b_roles;
mod c_emptiness;
mod check;
mod d_reasoning;
mod generate;
mod known_calls;
mod laws;
mod legal;
mod rule_sets;
