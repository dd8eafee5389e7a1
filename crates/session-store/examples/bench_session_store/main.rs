//! Measures what sessions cost, against the least that the disk, the parser and the server ask for the same bytes.
//!
//! Both sides of each ratio take turns in one run, because only their ratio means anything.
//! `cargo xtask bench session-store`, with a PostgreSQL server where there is one. `BENCH_ONLY=postgres`, `sqlite` or `teams` runs a part,
//! `BENCH_ONLY=slow` of PostgreSQL what is measured with slow flushes.
//!
//! What many writers gain they gain by sharing flushes. Where a flush is nearly free there is nothing to share, so these lines are
//! taken where each flush, of both sides, takes a millisecond more: see `slow_flush`.

#![expect(clippy::print_stdout, reason = "an example shows something")]

#[cfg(feature = "postgres")]
mod cluster;
#[cfg(feature = "postgres")]
mod idle;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod processes;
mod slow_flush;
mod sqlite;
#[cfg(feature = "postgres")]
mod teams;
mod writing;

use std::error::Error;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    runtime.block_on(async {
        match words.as_slice() {
            [] => measure().await,
            // This program again, in a process of its own.
            ["sqlite-slow"] => sqlite::with_slow_flushes().await,
            #[cfg(feature = "postgres")]
            ["write", url, schema, first, sessions] => {
                processes::write(url, schema, first.parse()?, sessions.parse()?).await
            }
            #[cfg(feature = "postgres")]
            ["hammer", how, connections, url, schema] => {
                teams::hammer(how, connections.parse()?, url, schema).await
            }
            _ => {
                Err("takes no arguments; BENCH_ONLY says what to run: postgres, slow, teams or sqlite".into())
            }
        }
    })
}

async fn measure() -> Outcome<()> {
    let only = std::env::var("BENCH_ONLY").ok();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let slow = slow_flush::Library::build()?;
    if wanted("sqlite") {
        sqlite::measure().await?;
        slow.run_again("sqlite-slow")?;
    }
    #[cfg(feature = "postgres")]
    if wanted("postgres") {
        postgres::measure().await?;
    }
    #[cfg(feature = "postgres")]
    if wanted("postgres") || wanted("slow") {
        postgres::with_slow_flushes(&slow).await?;
    }
    #[cfg(feature = "postgres")]
    if wanted("postgres") || wanted("teams") {
        teams::measure().await?;
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn at_most(name: &str, value: f64, bar: f64) {
    let verdict = if value <= bar { "ok" } else { "SHORT" };
    println!("{name}  {value:.2}  {bar:.2}  {verdict}");
}

fn at_least(name: &str, value: f64, bar: f64) {
    let verdict = if value >= bar { "ok" } else { "SHORT" };
    println!("{name}  {value:.2}  {bar:.2}  {verdict}");
}
