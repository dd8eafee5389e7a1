//! The tests of trunkline-sanitize: one binary.
//!
//! Rows of the catalogue of known failures are tests named by their id, a file per family; the laws are properties.

mod a_order;
mod a_pairing;
mod a_places;
mod a_server_tools;
mod a_wires;
mod account;
mod b_roles;
mod b_wires;
mod bound;
mod c_emptiness;
mod c_names;
mod c_wires;
mod catalogue;
mod check;
mod d_reasoning;
mod d_wires;
mod found;
mod generate;
mod known_calls;
mod laws;
mod legal;
mod live;
mod returned;
mod rule_sets;
mod switch;
mod texts;
