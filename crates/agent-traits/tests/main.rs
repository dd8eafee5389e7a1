//! What tools and signals do apart from any loop.

mod cancels;
mod typed;
