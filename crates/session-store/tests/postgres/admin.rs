//! What an administrator sees of a store, and tidies up.

use trunkline_session_store::{PostgresAdmin, SessionStore, StoreError};

use super::made::{append_notes, batch, new_session, note, session};
use super::{Schema, client, run, server};

#[tokio::test]
async fn the_status_tells_who_writes_and_what_there_is() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let admin = schema.admin().await;
    let empty = admin.status().await.unwrap();
    assert_eq!((empty.version, empty.newest, empty.bytes()), (None, 5, 0));
    assert!(empty.warnings.iter().any(|words| words.contains("not made yet")), "{:?}", empty.warnings);
    let store = schema.open().await;
    for number in 1..=2 {
        store.create(new_session(number)).await.unwrap();
    }
    let lease = store.lease(&session(1)).await.unwrap();
    append_notes(&store, &lease, 1, 3).await.unwrap();
    let status = admin.status().await.unwrap();
    assert!(status.is_current());
    assert_eq!((status.sessions, status.records), (2, 5));
    let [owner] = status.owners.as_slice() else { panic!("{:?}", status.owners) };
    assert_eq!(
        (owner.name.clone(), owner.knows, owner.sessions),
        (format!("process {}", std::process::id()), Some(5), 1)
    );
    assert!(owner.expires_in.as_secs() <= 10, "{owner:?}");
    assert!(status.tables.iter().any(|table| table.name == "records" && table.bytes > 0));
    assert!(status.settings.contains(&("fsync".to_owned(), "on".to_owned())), "{:?}", status.settings);
    assert!(!status.server.is_empty() && !status.distributed && !status.pooled, "{status:?}");
    drop(lease);
    store.close().await;
    assert_eq!(admin.status().await.unwrap().owners, []);
    admin.close().await;
}

#[tokio::test]
async fn a_status_of_something_else_says_so() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    run(&url, &format!("CREATE SCHEMA {}; CREATE TABLE {}.books (title text)", schema.name, schema.name))
        .await;
    let admin = schema.admin().await;
    assert!(matches!(admin.status().await.unwrap_err(), StoreError::NotAStore { .. }));
    assert!(matches!(admin.vacuum(|_| ()).await.unwrap_err(), StoreError::NotAStore { .. }));
}

#[tokio::test]
async fn what_was_deleted_is_given_back() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let store = schema.open().await;
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    for seq in 1..300 {
        // Short enough not to be compressed.
        let long = format!("\"{}\"", "long ".repeat(350));
        store.append(&lease, batch(seq, vec![note(&long)])).await.unwrap();
    }
    drop(lease);
    store.delete(&session(1)).await.unwrap();
    store.close().await;
    let admin = schema.admin().await;
    let mut told = Vec::new();
    let vacuumed = admin.vacuum(|table| told.push(table.to_owned())).await.unwrap();
    assert!(vacuumed.after < vacuumed.before, "{vacuumed:?}");
    assert_eq!(told.len() as u32, vacuumed.tables);
    assert!(told.contains(&"bodies".to_owned()), "{told:?}");
}

#[tokio::test]
async fn who_may_only_use_the_tables_can_look_and_not_vacuum() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    drop(schema.open().await);
    let role = schema.user().await;
    let theirs = schema.with(&format!("options[role]={role}"));
    let admin = PostgresAdmin::connect(theirs).await.unwrap();
    assert!(admin.status().await.unwrap().is_current());
    let error = admin.vacuum(|_| ()).await.unwrap_err();
    assert!(error.to_string().contains("belongs to another role"), "{error}");
    admin.close().await;
    run(&url, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn a_vacuum_that_a_setting_ends_says_how_to_raise_it() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    schema.open().await.close().await;
    let holder = client(&url).await;
    let lock = format!("BEGIN; LOCK TABLE {}.bodies IN SHARE UPDATE EXCLUSIVE MODE", schema.name);
    holder.batch_execute(&lock).await.unwrap();
    let admin = PostgresAdmin::connect(schema.with("options=-c%20statement_timeout=400")).await.unwrap();
    let error = admin.vacuum(|_| ()).await.unwrap_err().to_string();
    assert!(error.contains("PGOPTIONS='-c statement_timeout=0'"), "{error}");
    admin.close().await;
    holder.batch_execute("ROLLBACK").await.unwrap();
    let admin = schema.admin().await;
    assert!(admin.vacuum(|_| ()).await.unwrap().tables > 0);
    admin.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_distribute_tables_says_what_it_lacks() {
    let Some(url) = server() else { return };
    let schema = Schema::new(&url);
    let error = schema.admin().await.distribute(|_| ()).await.unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    schema.open().await.close().await;
    let error = schema.admin().await.distribute(|_| ()).await.unwrap_err().to_string();
    assert!(
        error.contains("the database has no Citus") && error.contains("CREATE EXTENSION citus"),
        "{error}"
    );
}
