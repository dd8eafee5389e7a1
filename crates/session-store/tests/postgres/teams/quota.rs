//! Quotas, against the store and against whoever has the password.

use std::time::{Duration, Instant};

use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::{
    Amend, Batch, Position, PostgresStore, Retention, SessionStore, StoreError, TeamLimits,
};

use super::super::made::{batch, new_session, node, note, session};
use super::super::server;
use super::{Database, Known, roomy};

const MIB: u64 = 1024 * 1024;

fn quota(bytes: u64) -> TeamLimits {
    let mut limits = roomy();
    limits.bytes = Some(bytes);
    limits
}

/// Text that does not get smaller by compression, of 16 KiB.
fn noise(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..1024).map(|_| format!("{:016x}", next())).collect()
}

/// Fills sessions until the store says that there is no room; returns how many were made, and what it said.
async fn fill(store: &PostgresStore) -> (u32, StoreError) {
    for number in 1..1000 {
        if let Err(error) = store.create(new_session(number)).await {
            return (number, error);
        }
        let lease = store.lease(&session(number)).await.unwrap();
        for seq in 1..=16 {
            let at = Position { seq, head: NodeId::new(seq as u32 - 1) };
            let records = vec![node(seq as u32, &noise(u64::from(number) * 100 + seq))];
            if let Err(error) = store.append(&lease, Batch::new(at, records)).await {
                return (number, error);
            }
        }
    }
    panic!("there is no limit");
}

async fn size(team: &Known) -> u64 {
    let sql = "SELECT sum(pg_total_relation_size(c.oid))::text FROM pg_class c
               WHERE relnamespace = to_regnamespace(current_user) AND relkind = 'r'";
    team.tries(sql).await.unwrap().first().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_team_can_read_and_delete_and_is_then_no_longer_full() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let team = database.grant(&quota(8 * MIB)).await;
    let store = team.open().await;
    let (made, error) = fill(&store).await;
    let StoreError::Full { quota: Some(words), .. } = &error else { panic!("{error:?}") };
    assert!(words.starts_with("the quota of 8192 kB is used up"), "{words}");
    assert!(error.to_string().contains(words), "{error}");
    assert!((7 * MIB..9 * MIB).contains(&size(&team).await), "{}", size(&team).await);
    // It stays so, for whoever comes.
    for number in 2001..2010 {
        let error = store.create(new_session(number)).await.unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
    }
    for number in 1..made {
        assert_eq!(store.read(&session(number), 0, 100).await.unwrap().len(), 17);
        drop(store.lease(&session(number)).await.unwrap());
    }
    for number in 1..made {
        store.delete(&session(number)).await.unwrap();
    }
    let admin = database.admin(&team.name).await;
    // What is deleted is there for as long as anybody in the database may still see it, and a file in use is not cut off.
    let begun = Instant::now();
    loop {
        admin.shrink().await.unwrap();
        if size(&team).await < 2 * MIB {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", size(&team).await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (again, error) = fill(&team.open().await).await;
    assert!(matches!(error, StoreError::SessionExists { .. }) || again + 1 >= made, "{again} {error}");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_statement_is_stopped_on_the_way() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let team = database.grant(&quota(4 * MIB)).await;
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    for sql in [
        "INSERT INTO @bodies SELECT gen_random_uuid(), i, repeat(md5(i::text), 200), NULL FROM generate_series(1, 200000) i",
        "INSERT INTO @parts SELECT gen_random_uuid(), sha256(i::text::bytea), (SELECT string_agg(md5((i + j)::text), '') FROM generate_series(1, 40000) j)
            FROM generate_series(1, 1000) i",
        "INSERT INTO @parts SELECT gen_random_uuid(), '\\x00', string_agg(sha512(i::text::bytea)::text, '') FROM generate_series(1, 500000) i",
        "INSERT INTO @letters SELECT gen_random_uuid(), i, 1, 'x', repeat(md5(i::text), 200) FROM generate_series(1, 200000) i",
        "INSERT INTO @owners SELECT gen_random_uuid(), md5(i::text), now() FROM generate_series(1, 3000000) i",
        "INSERT INTO @keys SELECT gen_random_uuid(), sha256(i::text::bytea), 1, 1, 1, 1 FROM generate_series(1, 3000000) i",
        "COPY @records (session, seq, kind, at, bytes, digest, name) FROM PROGRAM 'yes'",
        "INSERT INTO @records SELECT gen_random_uuid(), i, 1, 1, 1, 1, 1, '\\x00', 'x', repeat(md5(i::text), 20) FROM generate_series(1, 1000000) i",
        "DO $$ BEGIN FOR i IN 1..1000000 LOOP UPDATE @sessions SET title = repeat(md5(i::text), 30); END LOOP; END $$",
        "BEGIN; DO $$ BEGIN FOR i IN 1..200000 LOOP
            INSERT INTO @bodies VALUES (gen_random_uuid(), i, repeat(md5(i::text), 200), NULL); END LOOP; END $$; COMMIT",
    ] {
        let said = team.tries(sql).await.unwrap_err();
        assert!(said.contains("quota") || said.contains("must be superuser"), "{sql}: {said}");
        let size = size(&team).await;
        assert!(size < 40 * MIB, "{sql}: {size}");
        database.admin(&team.name).await.shrink().await.unwrap();
    }
    // All of that is gone.
    assert_eq!(store.sessions().await.unwrap().len(), 1);
    store.close().await;
}

#[tokio::test]
async fn the_number_of_sessions_and_connections_has_a_limit() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let mut limits = roomy();
    limits.sessions = Some(2);
    limits.connections = 3;
    let team = database.grant(&limits).await;
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    store.create(new_session(2)).await.unwrap();
    let error = store.create(new_session(3)).await.unwrap_err();
    assert!(error.to_string().contains("the quota of 2 sessions is used up"), "{error}");
    store.delete(&session(1)).await.unwrap();
    store.create(new_session(3)).await.unwrap();
    store.close().await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(tokio::spawn({
            let team = team.clone();
            async move { team.tries("SELECT pg_sleep(1)").await }
        }));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let said = team.tries("SELECT 1").await.unwrap_err();
    assert!(said.contains("too many connections"), "{said}");
    for one in open {
        one.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_team_keeps_what_its_own_rule_says() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let mut limits = roomy();
    limits.retention = Retention::older_than(1000);
    limits.retention.keep_tags.insert("keep".to_owned());
    let (team, other) = (database.grant(&limits).await, database.grant(&roomy()).await);
    for team in [&team, &other] {
        let store = team.open().await;
        for number in 1..=3 {
            store.create(new_session(number)).await.unwrap();
        }
        store.amend(&session(2), Amend::add_tags(["keep"])).await.unwrap();
        let lease = store.lease(&session(3)).await.unwrap();
        store.append(&lease, batch(1, vec![note("{}")])).await.unwrap();
        let admin = database.admin(&team.name).await;
        let plan = admin.retain(&[], Timestamp(5000), true).await.unwrap();
        let retained = admin.retain(&[], Timestamp(5000), false).await.unwrap();
        assert_eq!(plan.expired, retained.expired);
        let left: Vec<_> = store.sessions().await.unwrap().into_iter().map(|info| info.id).collect();
        match team.name == other.name {
            // It has no rule.
            true => assert_eq!((retained.deleted, left.len()), (0, 3)),
            // One has a tag, one a writer.
            false => {
                assert_eq!(retained.deleted, 1);
                assert!(!left.contains(&session(1)) && left.len() == 2, "{left:?}");
            }
        }
        drop(lease);
        store.close().await;
    }
}
