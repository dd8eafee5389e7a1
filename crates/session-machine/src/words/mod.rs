//! What both sides speak of: the machine, and whoever does its steps.

pub mod asked;
pub mod attempt;
pub mod bill;
pub mod bound;
pub mod call;
pub mod checkpoint;
pub mod close_as;
pub mod compacted;
pub mod error;
pub mod event;
pub mod files;
pub mod hook;
pub mod late;
pub mod lease;
pub(crate) mod path;
pub mod plan_text;
pub mod retries;
pub mod reverts;
pub mod runnable;
pub mod said;
pub mod start;
pub mod stop;
pub mod task;
pub mod work;
