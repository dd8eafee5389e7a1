//! The store as a whole: what it is like, where it is, how it comes to a newer version.

use crate::fake::Scene;
use crate::made::{rich, session};
use crate::server::Schema;

#[test]
fn a_file_tells_where_it_is_and_what_it_has() {
    let scene = Scene::new();
    let place = scene.store();
    // Also before there is anything.
    assert!(scene.ok(&["store", "path"]).ends_with("/store/sessions.db\n"));
    assert!(!place.exists());
    for command in [&["store"][..], &["store", "status"], &["store", "migrate"], &["store", "vacuum"]] {
        let said = scene.run(command);
        assert_eq!(said.exit, Some(2), "{}", said.err);
        assert!(said.err.contains("there is no session store at"), "{}", said.err);
    }
    scene.import(&[rich(1, 5_000), session(2, "two", 6_000, &["hello"])].concat());
    let shown = scene.ok(&["store"]);
    assert_eq!(shown, scene.ok(&["store", "status"]));
    assert!(shown.contains("sessions  2, with "), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&scene.ok(&["store", "--json"])).expect("it is JSON");
    assert_eq!(
        (&json["version"], &json["kind"], &json["sessions"]),
        (&1.into(), &"sqlite".into(), &2.into())
    );
    assert_eq!(
        json,
        serde_json::from_str::<serde_json::Value>(&scene.ok(&["store", "status", "--json"])).expect("it is")
    );
    assert!(scene.ok(&["store", "migrate"]).starts_with("the store is current"), "nothing to do");
    assert!(scene.ok(&["store", "vacuum"]).starts_with("nothing was left over; the file keeps its "));
    let said = scene.run(&["store", "distribute", "--yes"]);
    assert!(said.exit == Some(2) && said.err.contains("the store is a file"), "{}", said.err);
    let said = scene.run(&["store", "vacuum", "--json"]);
    assert_eq!(said.exit, Some(2), "{}", said.err);
    let said = scene.run(&["store", "--json", "path"]);
    assert!(said.exit == Some(2) && said.err.contains("trunkline store status --json"), "{}", said.err);
}

#[test]
fn a_server_tells_who_writes_and_what_should_be_changed() {
    let Some(schema) = Schema::new() else { return };
    let mut scene = Scene::new();
    scene.set("TRUNKLINE_STORE", &schema.url());
    let path = scene.ok(&["store", "path"]);
    assert!(path.starts_with("postgres://") && path.contains("schema=cli_"), "{path}");
    let empty = scene.run(&["store"]);
    assert_eq!(empty.exit, Some(0), "{}", empty.err);
    assert!(empty.out.contains("schema    not made yet"), "{}", empty.out);
    assert!(empty.err.contains("trunkline store migrate --dry-run"), "{}", empty.err);
    assert_eq!(scene.ok(&["store", "migrate", "--dry-run"]), "there is no store yet:\n  make the store\n");
    assert_eq!(scene.ok(&["store", "migrate", "--yes"]), "the store was made, with version 5\n");
    assert_eq!(scene.ok(&["store", "migrate"]), "the store is current: its schema has version 5\n");
    scene.import(&session(2, "two", 6_000, &["hello"]));
    let said = scene.run(&["store"]);
    assert!(said.out.contains("version 5 of 5") && said.out.contains("writers   none"), "{}", said.out);
    let json: serde_json::Value = serde_json::from_str(&scene.ok(&["store", "--json"])).expect("it is JSON");
    assert_eq!((&json["schema_version"], &json["sessions"]), (&5.into(), &1.into()));
    assert_eq!(json["settings"]["fsync"], "on");
    assert!(scene.ok(&["store", "vacuum"]).starts_with("nothing was left over; 9 tables took "));
    let said = scene.run(&["store", "distribute"]);
    assert!(said.exit == Some(2) && said.err.contains("trunkline store distribute --yes"), "{}", said.err);
    let said = scene.run(&["store", "distribute", "--yes"]);
    assert!(said.exit == Some(1) && said.err.contains("the database has no Citus"), "{}", said.err);
    let password = schema.url();
    let password = password.split_once("://").and_then(|(_, rest)| rest.split_once('@')).expect("a login").0;
    let password = password.split_once(':').expect("a password").1.to_owned();
    for arguments in [&["store", "path"][..], &["store"], &["store", "--json"], &["store", "migrate"]] {
        let output = scene.command(arguments).output().expect("it runs");
        let shown = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
        assert!(!shown.contains(&password) && shown.len() > 20, "{shown}");
    }
}

#[test]
fn a_migration_is_shown_agreed_to_and_waits_for_older_programs() {
    let Some(schema) = Schema::new() else { return };
    let mut scene = Scene::new();
    scene.set("TRUNKLINE_STORE", &schema.url());
    scene.ok(&["store", "migrate", "--yes"]);
    schema.run("UPDATE @store SET version = 4");
    let old = |seconds: u32| {
        schema.run(&format!(
            "INSERT INTO @owners (owner, name, alive_until)
             VALUES ('11111111-1111-4111-9111-111111111111', 'process 7 on an old machine',
                     clock_timestamp() + interval '{seconds} s')
             ON CONFLICT (owner) DO UPDATE SET alive_until = excluded.alive_until"
        ));
    };
    let unasked = scene.run(&["store", "migrate"]);
    assert_eq!(unasked.exit, Some(2), "{}", unasked.err);
    assert!(unasked.err.contains("let no older program register"), "{}", unasked.err);
    assert!(unasked.err.contains("trunkline store migrate --yes"), "{}", unasked.err);
    old(60);
    let name = "process 7 on an old machine: knows no schema newer than 4, writes 0 sessions";
    for arguments in [
        &["store", "migrate", "--dry-run"][..],
        &["store", "migrate", "--yes"],
        &["store", "migrate", "--yes", "--wait", "1"],
    ] {
        let said = scene.run(arguments);
        assert_eq!(said.exit, Some(1), "{arguments:?}: {}", said.err);
        assert!(said.err.contains(name), "{arguments:?}: {}", said.err);
        assert!(said.err.contains("trunkline store migrate --wait 10m"), "{arguments:?}: {}", said.err);
    }
    let shown = scene.run(&["store"]);
    assert!(shown.err.contains("has version 4 of 5"), "{}", shown.err);
    old(2);
    let said = scene.run(&["store", "migrate", "--yes", "--wait", "1m"]);
    assert_eq!(
        (said.exit, said.out.as_str()),
        (Some(0), "the store was brought from version 4 to 5\n"),
        "{}",
        said.err
    );
    assert!(said.err.contains("waits for 1 older program"), "{}", said.err);
    assert!(said.err.contains("5 of 5: "), "{}", said.err);
    schema.run("UPDATE @store SET version = 3");
    let said = scene.run(&["sessions"]);
    assert_eq!(said.exit, Some(1));
    assert!(said.err.contains("run `trunkline store migrate`"), "{}", said.err);
}
