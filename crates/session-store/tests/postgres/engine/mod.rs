//! The hard engine in a box: the proxy itself, and the store behind it.

mod boxed;
mod cuts;
mod failing;
mod lacking;
mod promises;
mod proxy;
mod raw;
