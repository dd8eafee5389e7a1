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

#[test]
fn a_team_is_made_used_listed_pruned_and_removed() {
    let Some(schema) = Schema::new() else { return };
    let admin = schema.url();
    let team = format!("team_{}", std::process::id());
    let mut scene = Scene::new();
    scene.set("TRUNKLINE_STORE", &admin);
    let file = scene.path("team.password").to_str().expect("a plain path").to_owned();
    let said = scene.run(&["store", "revoke", &team, "--yes"]);
    assert!(said.exit == Some(2) && said.err.contains("there is no team"), "{}", said.err);
    let said = scene.run(&["store", "grant", "No Team"]);
    assert!(said.exit == Some(1) && said.err.contains("use a-z, 0-9 and _"), "{}", said.err);
    let said = scene.run(&[
        "store",
        "grant",
        &team,
        "--quota",
        "20MB",
        "--connections",
        "4",
        "--password-file",
        &file,
    ]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    for words in ["is made", "quota        20.0 MB", "connections  4", "pruned       nothing"] {
        assert!(said.out.contains(words), "{}", said.out);
    }
    let password = std::fs::read_to_string(&file).expect("it is made").trim().to_owned();
    assert!(password.len() == 64 && !said.err.contains(&password) && !said.out.contains(&password));
    let named = format!("{team}@");
    let url =
        said.err.split(['\'', ' ', '"']).find(|word| word.contains(&named)).expect("it is told").to_owned();
    assert!(url.ends_with(&format!("?schema={team}")), "{url}");
    // What is not said stays, and the password does not change.
    let said =
        scene.run(&["store", "grant", &team, "--older-than", "90d", "--keep-tag", "law", "--sessions", "9"]);
    assert!(
        said.out.contains("has these limits now") && said.out.contains("20.0 MB"),
        "{}{}",
        said.out,
        said.err
    );
    assert!(said.out.contains("for 90d, not those tagged law"), "{}", said.out);
    // As one of its people.
    let mut member = Scene::new();
    member.set("TRUNKLINE_STORE", &url);
    member.set("TRUNKLINE_STORE_PASSWORD_FILE", &file);
    member.import(&[rich(1, 5_000), session(2, "two", 6_000, &["hello"])].concat());
    member.ok(&["tag", "law", "-s", "last"]);
    let said = member.run(&["store"]);
    assert!(
        said.exit == Some(0) && said.out.contains("sessions  2, with ") && said.out.contains(" of 20.0 MB ("),
        "{}{}",
        said.out,
        said.err
    );
    let said = member.run(&["store", "vacuum"]);
    assert!(said.exit == Some(1) && said.err.contains("belongs to another role"), "{}", said.err);
    let said = member.run(&["store", "grant", "another"]);
    assert!(said.exit == Some(1) && said.err.contains("may not make roles"), "{}", said.err);
    let listed = scene.ok(&["store", "teams"]);
    assert!(
        listed.contains(&format!("{team}  ")) && listed.contains("of 20.0 MB in 2 sessions of 9"),
        "{listed}"
    );
    let json: serde_json::Value = serde_json::from_slice(
        &scene.command(&["store", "teams", "--json"]).output().expect("it runs").stdout,
    )
    .expect("it is JSON");
    let ours =
        json["teams"].as_array().and_then(|teams| teams.iter().find(|one| one["name"] == team.as_str()));
    assert_eq!(ours.expect("it is listed")["quota"], 20_000_000);
    let said = scene.run(&["store", "prune", &team]);
    assert!(said.exit == Some(2) && said.err.contains(&format!("store prune {team} --yes")), "{}", said.err);
    assert_eq!(scene.ok(&["store", "prune", &team, "--yes"]), "1 session deleted\n");
    let said = scene.run(&["store", "revoke", &team]);
    assert!(said.exit == Some(2) && said.err.contains("store revoke"), "{}", said.err);
    assert!(scene.ok(&["store", "revoke", &team, "--yes"]).contains("is removed"));
    assert_eq!(member.run(&["sessions"]).exit, Some(1));
    let said = Scene::new().run(&["store", "teams"]);
    assert!(said.exit == Some(2) && said.err.contains("only a database server has teams"), "{}", said.err);
}
