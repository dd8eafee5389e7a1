//! The ways to a server: directly, and through PgBouncer in transaction and in session mode.
//!
//! `TRUNKLINE_TEST_POSTGRES_POOLED` and `…_POOLED_SESSION` are URLs through it to the database of `TRUNKLINE_TEST_POSTGRES`.

mod backends;
mod counting;
mod direct;
mod leaks;
mod refused;
mod trips;

use super::{Postgres, few, server, skipped};

/// The way through a pool in transaction mode: each transaction may run on another of four backends.
const TRANSACTION: &str = "TRUNKLINE_TEST_POSTGRES_POOLED";
/// The way through a pool in session mode.
const SESSION: &str = "TRUNKLINE_TEST_POSTGRES_POOLED_SESSION";

/// Returns the URL of a way, or says loudly that there is none.
fn way(variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty() && url != "none");
    if url.is_none() {
        skipped(variable);
    }
    url
}

#[test]
fn postgres_keeps_every_promise_through_a_pool_of_transactions() {
    let (Some(url), Some(way)) = (server(), way(TRANSACTION)) else { return };
    Postgres::by("postgres through a pool of transactions", url, way).keeps_every_promise_with(&few());
}

#[test]
fn postgres_keeps_every_promise_through_a_pool_of_sessions() {
    let (Some(url), Some(way)) = (server(), way(SESSION)) else { return };
    Postgres::by("postgres through a pool of sessions", url, way).keeps_every_promise_with(&few());
}
