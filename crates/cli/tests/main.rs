//! The tests of trunkline-cli: one binary.
