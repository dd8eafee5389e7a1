//! What sessions cost the server that are held and do nothing, some of them followed: a few against ten thousand.

use std::time::Duration;

use tokio_postgres::{AsyncMessage, NoTls};
use trunkline_session_store::{Activity, Lease, PostgresStore, SessionStore};

use crate::postgres::{connect, open, schema};
use crate::writing::{create, id};
use crate::{Outcome, at_most};

const FEW: u32 = 20;
const MANY: u32 = 10_000;
const FOLLOWED: u32 = 20;
/// For how long nothing is done. Connections that rest are closed before it begins.
const LOOKED_AT: Duration = Duration::from_secs(20);
const RESTING: Duration = Duration::from_secs(32);

pub(crate) async fn measure(url: &str) -> Outcome<()> {
    let schema = schema("idle");
    let store = open(url, &schema).await?;
    let mut leases = Vec::new();
    hold(&store, &mut leases, FEW).await?;
    let mut followers = Vec::new();
    for number in 0..FOLLOWED {
        let (store, session) = (store.clone(), id(1 + number)?);
        followers.push(tokio::spawn(async move {
            let mut seen = Activity::default();
            while let Ok(now) = store.changed(&session, seen).await {
                seen = now;
            }
        }));
    }
    let few = Cost::of(url).await?;
    hold(&store, &mut leases, MANY).await?;
    let many = Cost::of(url).await?;
    println!("# PostgreSQL, {LOOKED_AT:?} with {FEW} idle sessions, {FOLLOWED} of them followed: {few}");
    println!("# with {MANY}: {many}");
    at_most("PostgreSQL: connections that 10,000 idle sessions add", many.connections - few.connections, 0.0);
    at_most("PostgreSQL: locks that 10,000 idle sessions add", many.locks - few.locks, 0.0);
    at_most(
        "PostgreSQL: notifications that 10,000 idle sessions add",
        many.notifications - few.notifications,
        0.0,
    );
    at_most("PostgreSQL: transactions a second that they add", many.transactions - few.transactions, 1.0);
    at_most(
        "PostgreSQL: ms of the server's processors a second that they add",
        many.processor - few.processor,
        5.0,
    );
    for follower in followers {
        follower.abort();
    }
    drop(leases);
    store.close().await;
    connect(url).await?.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).await?;
    Ok(())
}

/// Makes sessions until so many are held.
async fn hold(store: &PostgresStore, leases: &mut Vec<Lease>, sessions: u32) -> Outcome<()> {
    let mut tasks = Vec::new();
    for first in (leases.len() as u32..sessions).step_by(500) {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let mut leases = Vec::new();
            for number in first..sessions.min(first + 500) {
                let id = id(1 + number)?;
                create(&store, &id).await?;
                leases.push(store.lease(&id).await?);
            }
            Outcome::Ok(leases)
        }));
    }
    for task in tasks {
        leases.extend(task.await??);
    }
    Ok(())
}

/// What the server does for everybody but us.
struct Cost {
    connections: f64,
    locks: f64,
    notifications: f64,
    /// In a second.
    transactions: f64,
    /// Milliseconds in a second.
    processor: f64,
}

impl Cost {
    async fn of(url: &str) -> Outcome<Self> {
        tokio::time::sleep(RESTING).await;
        let client = connect(url).await?;
        let told = count_notifications(url, &channel(&client).await?).await?;
        // What is left to do of many new rows is not what idle sessions cost.
        for tidy in ["VACUUM ANALYZE", "CHECKPOINT"] {
            client.batch_execute(tidy).await?;
        }
        let (told_before, before) = (told.now(), Work::now(&client).await?);
        tokio::time::sleep(LOOKED_AT).await;
        let (told_after, after) = (told.now(), Work::now(&client).await?);
        let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trunkline'";
        let locks = "SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()";
        let connections: i64 = client.query_one(ours, &[]).await?.try_get(0)?;
        let locks: i64 = client.query_one(locks, &[]).await?.try_get(0)?;
        let seconds = LOOKED_AT.as_secs_f64();
        Ok(Cost {
            connections: connections as f64,
            locks: locks as f64,
            notifications: (told_after - told_before) as f64,
            transactions: (after.transactions - before.transactions) as f64 / seconds,
            processor: (after.ticks - before.ticks) as f64 * 10.0 / seconds,
        })
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Cost { connections, locks, notifications, transactions, processor } = self;
        write!(
            f,
            "{connections} connections, {locks} locks, {notifications} notifications, {transactions:.1} transactions a \
             second, {processor:.1} ms of processor a second"
        )
    }
}

/// What the server has done so far.
struct Work {
    transactions: i64,
    /// A hundredth of a second each, as Linux counts for everybody who asks.
    ticks: u64,
}

impl Work {
    async fn now(client: &tokio_postgres::Client) -> Outcome<Self> {
        let query = "SELECT xact_commit + xact_rollback, pg_backend_pid()
            FROM pg_stat_database WHERE datname = current_database()";
        let row = client.query_one(query, &[]).await?;
        let (transactions, backend): (i64, i32) = (row.try_get(0)?, row.try_get(1)?);
        let backend = Process::read(&backend.to_string()).ok_or("the server runs on another machine")?;
        let server = Process::read(&backend.parent).ok_or("the server's first process is not seen")?;
        let mut ticks = server.own + server.ended;
        for entry in std::fs::read_dir("/proc")? {
            let name = entry?.file_name();
            // One that ends meanwhile is counted with those that have ended, next time.
            if let Some(process) = name.to_str().and_then(Process::read)
                && process.parent == backend.parent
            {
                ticks += process.own;
            }
        }
        Ok(Work { transactions, ticks })
    }
}

/// The processor time of a process, and of its children that have ended, in ticks.
struct Process {
    parent: String,
    own: u64,
    ended: u64,
}

impl Process {
    fn read(number: &str) -> Option<Self> {
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        let line = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // The name stands in brackets and may have blanks; what follows is numbered from 3 in proc(5).
        let fields: Vec<&str> = line.rsplit_once(") ")?.1.split(' ').collect();
        let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Process {
            parent: (*fields.get(1)?).to_owned(),
            own: ticks(14)? + ticks(15)?,
            ended: ticks(16)? + ticks(17)?,
        })
    }
}

/// Returns on which channel a store listens. Its name is a secret of the schema, so it is read where the server shows it.
async fn channel(client: &tokio_postgres::Client) -> Outcome<String> {
    let query =
        "SELECT query FROM pg_stat_activity WHERE application_name = 'trunkline' AND query LIKE 'LISTEN %'";
    let row = client.query_opt(query, &[]).await?.ok_or("no store listens")?;
    let query: String = row.try_get(0)?;
    Ok(query.split('"').nth(1).ok_or("a LISTEN without a name")?.to_owned())
}

/// Counts what the server tells on a channel.
struct Told {
    count: std::sync::Arc<std::sync::atomic::AtomicU64>,
    _client: tokio_postgres::Client,
}

impl Told {
    fn now(&self) -> u64 {
        self.count.load(std::sync::atomic::Ordering::Relaxed)
    }
}

async fn count_notifications(url: &str, channel: &str) -> Outcome<Told> {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
    let count = std::sync::Arc::<std::sync::atomic::AtomicU64>::default();
    let counting = std::sync::Arc::clone(&count);
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(_) = message {
                counting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
    });
    client.batch_execute(&format!("LISTEN \"{channel}\"")).await?;
    Ok(Told { count, _client: client })
}
