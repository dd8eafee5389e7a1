//! How teams are made, changed and removed.

use std::time::Duration;

use trunkline_session_store::{PostgresAdmin, PostgresOptions, SessionStore, StoreError};

use super::super::made::{new_session, session};
use super::super::{run, server};
use super::{Database, roomy, tried};

#[tokio::test(flavor = "multi_thread")]
async fn a_team_is_made_listed_changed_and_removed() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let (team, other) = (database.grant(&roomy()).await, database.grant(&roomy()).await);
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    let admin = database.admin(&team.name).await;
    let mut limits = roomy();
    limits.bytes = Some(5_000_000);
    limits.connections = 7;
    limits.retention.keep_tags.insert("it's \"kept\"".to_owned());
    assert!(!admin.grant(&limits).await.unwrap().is_new);
    let listed = admin.teams().await.unwrap();
    assert_eq!(listed.iter().map(|one| &one.name).collect::<Vec<_>>(), [&team.name, &other.name]);
    let one = admin.team().await.unwrap().unwrap();
    assert_eq!((one.limits, one.sessions, one.unfinished), (limits.clone(), 1, false));
    assert!(one.bytes > 100_000 && one.connected >= 1);
    // The old password is good until there is a new one.
    store.info(&session(1)).await.unwrap();
    let renewed = database.known(&admin, "another").await;
    assert!(team.tries("SELECT 1").await.unwrap_err().contains("password authentication failed"));
    renewed.tries("SELECT 1").await.unwrap();
    // Its connections end with it, and nothing stays.
    admin.revoke().await.unwrap();
    assert!(store.info(&session(1)).await.is_err());
    let left = format!(
        "SELECT rolname FROM pg_roles WHERE rolname LIKE '{0}%' UNION ALL SELECT nspname FROM pg_namespace WHERE nspname LIKE '{0}%'",
        team.name
    );
    assert_eq!(tried(&database.url, &left).await.unwrap(), Vec::<String>::new());
    assert_eq!(admin.teams().await.unwrap().len(), 1);
    let error = admin.revoke().await.unwrap_err();
    assert!(error.to_string().contains("there is no team"), "{error}");
    // Another of that name has nothing of it.
    assert!(admin.grant(&roomy()).await.unwrap().is_new);
    let made = database.known(&admin, "third").await;
    assert_eq!(made.open().await.sessions().await.unwrap(), []);
    other.open().await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_there_becomes_a_teams() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let name = database.team();
    let ours =
        trunkline_session_store::PostgresStore::open(PostgresOptions::new(&database.url).schema(&name))
            .await
            .unwrap();
    ours.create(new_session(1)).await.unwrap();
    let admin = database.admin(&name).await;
    admin.grant(&roomy()).await.unwrap();
    let team = database.known(&admin, "its-own").await;
    let store = team.open().await;
    drop(store.lease(&session(1)).await.unwrap());
    store.delete(&session(1)).await.unwrap();
    // Who had it open goes on.
    assert_eq!(ours.sessions().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_cut_off_is_finished_by_the_next() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let name = database.team();
    let admin = database.admin(&name).await;
    for step in 0..14 {
        let limits = roomy();
        // Dropped, it cuts its connection off wherever it is.
        let cut = tokio::time::timeout(Duration::from_millis(step * 9), admin.grant(&limits)).await;
        admin.grant(&limits).await.unwrap();
        let team = database.known(&admin, "its-own").await;
        let store = team.open().await;
        store.create(new_session(1)).await.unwrap();
        store.close().await;
        let cut_too = tokio::time::timeout(Duration::from_millis(step * 4), admin.revoke()).await;
        match (admin.revoke().await, cut_too) {
            (Ok(()), _) => {}
            (Err(error), Ok(_)) => assert!(error.to_string().contains("there is no team"), "{error}"),
            (Err(error), Err(_)) => {
                // It was done, and the answer was not waited for.
                assert!(error.to_string().contains("there is no team"), "{error}");
            }
        }
        drop(cut);
        assert_eq!(admin.teams().await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_can_be_made_at_once() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let mut making = Vec::new();
    let same = database.team();
    for number in 0..6 {
        let name = if number < 2 { same.clone() } else { database.team() };
        let admin = database.admin(&name).await;
        making.push(tokio::spawn(async move { admin.grant(&roomy()).await }));
    }
    for one in making {
        one.await.unwrap().unwrap();
    }
    assert_eq!(database.admin(&same).await.teams().await.unwrap().len(), 5);
}

#[tokio::test]
async fn what_belongs_to_others_is_not_taken() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let name = database.team();
    run(&database.url, &format!("CREATE ROLE {name} LOGIN")).await;
    let error = database.admin(&name).await.grant(&roomy()).await.unwrap_err();
    assert!(error.to_string().contains("was not made for this team"), "{error}");
    let error = database.admin(&name).await.revoke().await.unwrap_err();
    assert!(error.to_string().contains("was not made for this team"), "{error}");
    run(&database.url, &format!("DROP ROLE {name}")).await;
    run(&database.url, &format!("CREATE SCHEMA {name}; CREATE TABLE {name}.books (title text)")).await;
    let error = database.admin(&name).await.grant(&roomy()).await.unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    let long = "x".repeat(60);
    let error = database.admin(&long).await.grant(&roomy()).await.unwrap_err();
    assert!(error.to_string().contains("too long for a team"), "{error}");
    // The roles are those of the whole server: another database cannot have a team of that name.
    let (team, elsewhere) = (database.grant(&roomy()).await, Database::new(&url).await);
    let error = elsewhere.admin(&team.name).await.grant(&roomy()).await.unwrap_err();
    assert!(error.to_string().contains("was not made for this team in this database"), "{error}");
}

#[tokio::test]
async fn a_team_that_holds_its_tables_hides_no_other() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let (team, other) = (database.grant(&roomy()).await, database.grant(&roomy()).await);
    other.open().await.create(new_session(1)).await.unwrap();
    let (holder, connection) = tokio_postgres::connect(&team.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let lock = format!("BEGIN; LOCK TABLE {}.sessions", team.name);
    holder.batch_execute(&lock).await.unwrap();
    let listed = database.admin(&other.name).await.teams().await.unwrap();
    let known: Vec<_> = listed.iter().map(|team| (&team.name, team.locked, team.sessions)).collect();
    assert_eq!(known, [(&team.name, true, 0), (&other.name, false, 1)]);
    let admin = database.admin(&team.name).await;
    assert!(admin.team().await.unwrap().unwrap().locked);
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert!(!admin.team().await.unwrap().unwrap().locked);
    // Nor does it keep itself from being removed.
    holder.batch_execute(&lock).await.unwrap();
    admin.revoke().await.unwrap();
}

#[tokio::test]
async fn what_a_team_has_reset_is_what_it_should_be() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let team = database.grant(&roomy()).await;
    let admin = database.admin(&team.name).await;
    let set = |what: &str| format!("ALTER ROLE {} IN DATABASE {} {what}", team.name, database.name);
    team.tries(&set("RESET ALL")).await.unwrap();
    assert_eq!(admin.team().await.unwrap().unwrap().limits.statement_timeout, Duration::from_secs(60));
    for (words, time) in [("2min", 120), ("90s", 90), ("5 s", 5), ("7000", 7)] {
        run(&database.url, &set(&format!("SET statement_timeout = '{words}'"))).await;
        let limits = admin.team().await.unwrap().unwrap().limits;
        assert_eq!(limits.statement_timeout, Duration::from_secs(time), "{words}");
        admin.grant(&limits).await.unwrap();
        assert_eq!(admin.team().await.unwrap().unwrap().limits, limits);
    }
    run(&database.url, &set("SET temp_file_limit = '1GB'")).await;
    assert_eq!(admin.team().await.unwrap().unwrap().limits.temp_bytes, 1 << 30);
}

/// What others have tied to the tables of a schema would run with the rights of the administrator who deletes from them.
#[tokio::test]
async fn a_schema_that_reaches_into_others_is_not_taken() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    for (tied, words) in [
        ("CREATE TABLE aside.child () INHERITS (NAME.sessions)", "aside.child"),
        (
            "CREATE DOMAIN aside.word AS text CHECK (VALUE <> ''); ALTER TABLE NAME.sessions ALTER title TYPE aside.word",
            "title",
        ),
    ] {
        let name = database.team();
        let options = PostgresOptions::new(&database.url).schema(&name);
        trunkline_session_store::PostgresStore::open(options).await.unwrap().close().await;
        run(&database.url, &format!("CREATE SCHEMA aside; {}", tied.replace("NAME", &name))).await;
        let error = database.admin(&name).await.grant(&roomy()).await.unwrap_err().to_string();
        assert!(error.contains("with the rights of a team") && error.contains(words), "{error}");
        run(&database.url, "DROP SCHEMA aside CASCADE").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_need_not_be_a_superuser() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).await;
    let (role, name) = (database.team(), database.team());
    run(
        &database.url,
        &format!(
            "CREATE ROLE {role} CREATEROLE LOGIN PASSWORD 'x'; GRANT CREATE ON DATABASE {} TO {role}",
            database.name
        ),
    )
    .await;
    let (before, after) = database.url.rsplit_once('@').unwrap();
    let theirs = format!("{}://{role}:x@{after}", before.split_once("://").unwrap().0);
    let admin = PostgresAdmin::connect(PostgresOptions::new(&theirs).schema(&name)).await.unwrap();
    let granted = admin.grant(&roomy()).await.unwrap();
    let told = granted.warnings.join("\n");
    for word in ["temporary tables", "large objects", "temporary files"] {
        assert!(told.contains(word), "{told}");
    }
    let team = database.known(&admin, "its-own").await;
    let store = team.open().await;
    store.create(new_session(1)).await.unwrap();
    store.close().await;
    assert_eq!(admin.team().await.unwrap().unwrap().sessions, 1);
    admin.shrink().await.unwrap();
    admin.revoke().await.unwrap();
    let plain = PostgresAdmin::connect(PostgresOptions::new(&database.url).schema(&name)).await.unwrap();
    assert_eq!(plain.teams().await.unwrap(), []);
    run(&database.url, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}
