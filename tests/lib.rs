//! Stories and laws that need more than one crate live in `stories/`.
