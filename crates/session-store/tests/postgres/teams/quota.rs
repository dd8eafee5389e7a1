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

/// Many small ones are stopped like one large one, whatever table they go to.
#[tokio::test(flavor = "multi_thread")]
async fn small_statements_are_stopped_however_often_they_are_tried() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let team = database.grant(&quota(4 * MIB)).await;
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    store.post(&session(1), "test", "1", Timestamp(1)).await.unwrap();
    let admin = database.admin(&team.name).await;
    let noise = "(SELECT string_agg(md5((random() + j)::text), '') FROM generate_series(1, 1500) j)";
    for change in [
        format!("INSERT INTO @bodies VALUES (gen_random_uuid(), 1, {noise}, NULL)"),
        format!("INSERT INTO @parts VALUES (gen_random_uuid(), sha256(random()::text::bytea), {noise})"),
        format!("INSERT INTO @owners VALUES (gen_random_uuid(), {noise}, now())"),
        format!(
            "INSERT INTO @records (session, seq, kind, at, bytes, digest, name) VALUES (gen_random_uuid(), 1, 1, 1, 1, '', {noise})"
        ),
        format!("UPDATE @letters SET body = {noise}"),
        format!("UPDATE @sessions SET title = {noise}"),
    ] {
        // 40 to 60 MiB, each 48 KB in a transaction of its own.
        let sql = format!(
            "DO $$ DECLARE refused int := 0; BEGIN FOR i IN 1..1200 LOOP
                 BEGIN {change}; EXCEPTION WHEN disk_full THEN refused := refused + 1; END; COMMIT;
             END LOOP; RAISE EXCEPTION 'refused %', refused; END $$"
        );
        let said = team.tries(&sql).await.unwrap_err();
        let refused: u32 = said.rsplit(' ').next().and_then(|number| number.parse().ok()).expect(&said);
        // A quota of 4 MiB has room for 80, and for changes there are 16 MiB more.
        assert!(refused > 600, "{change}: {said}");
        let size = size(&team).await;
        assert!(size < 32 * MIB, "{change}: {size}");
        admin.shrink().await.unwrap();
        team.tries("DELETE FROM @bodies WHERE seq > 0; DELETE FROM @parts; DELETE FROM @owners")
            .await
            .unwrap();
        admin.shrink().await.unwrap();
    }
    store.close().await;
}

/// What was there when a quota was set to less does not keep leases from being given.
#[tokio::test]
async fn a_quota_below_what_is_there_lets_leases_go_on() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let team = database.grant(&roomy()).await;
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    let large = "INSERT INTO @bodies SELECT gen_random_uuid(), i, (SELECT string_agg(md5((i + j)::text), '')
        FROM generate_series(1, 1000) j), NULL FROM generate_series(1, 1200) i";
    team.tries(large).await.unwrap();
    assert!(size(&team).await > 24 * MIB, "{}", size(&team).await);
    database.admin(&team.name).await.grant(&quota(MIB)).await.unwrap();
    assert!(matches!(store.create(new_session(2)).await.unwrap_err(), StoreError::Full { .. }));
    for _ in 0..20 {
        drop(store.lease(&session(1)).await.unwrap());
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_make_sessions_at_once_are_counted_together() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let mut limits = roomy();
    limits.sessions = Some(4);
    let team = database.grant(&limits).await;
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    let copies = |isolation: &str| {
        format!("BEGIN ISOLATION LEVEL {isolation}; SELECT 1 FROM @sessions; SELECT pg_sleep(0.2); INSERT INTO @sessions SELECT (s.json_populate_record).* FROM (SELECT json_populate_record(NULL::@sessions,
        (to_jsonb(o) || jsonb_build_object('session', gen_random_uuid()))::json) FROM @sessions o, generate_series(1, 3)) s;
        SELECT pg_sleep(0.5); COMMIT")
    };
    for (isolation, words) in
        [("READ COMMITTED", "the quota of 4 sessions is used up"), ("REPEATABLE READ", "could not serialize")]
    {
        let copy = copies(isolation);
        let (one, other) = tokio::join!(team.tries(&copy), team.tries(&copy));
        let refused = [one, other].into_iter().filter_map(Result::err).collect::<Vec<_>>();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0].contains(words), "{refused:?}");
        assert_eq!(team.tries("SELECT count(*) FROM @sessions").await.unwrap(), ["4"]);
        team.tries(&format!("DELETE FROM @sessions WHERE session <> '{}'", session(1))).await.unwrap();
    }
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
        let rule = admin.team().await.unwrap().unwrap().limits.retention;
        let plan = rule.plan(&store, Timestamp(5000)).await.unwrap();
        let mut deleted = Vec::new();
        for expired in plan {
            if store.delete_idle(&expired.info).await.is_ok() {
                deleted.push(expired.info.id);
            }
        }
        match team.name == other.name {
            // It has no rule.
            true => assert_eq!(deleted, []),
            // One has a tag, one a writer.
            false => assert_eq!(deleted, [session(1)]),
        }
        drop(lease);
        store.close().await;
    }
}
