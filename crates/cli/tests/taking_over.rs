//! `trunkline import` of other agents' sessions, `audit` of all there are, and `export --to`.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_session_store::{Claim, SessionId, SessionStore, SqliteStore};

use crate::fake::{Scene, says};
use crate::logs::{SESSION, answered, broken_session, call, session, sound_session, text, typed};

/// Puts a file where Claude Code keeps its sessions.
fn put(scene: &Scene, name: &str, text: &str) -> String {
    let folder = scene.path(".claude/projects/-project-my-app");
    fs::create_dir_all(&folder).expect("made");
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    path.to_str().expect("a plain path").to_owned()
}

/// The sound session, and what came after it.
fn grown(more: Vec<Value>) -> String {
    let mut records: Vec<Value> =
        sound_session().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    records.extend(more);
    session(records)
}

#[test]
fn a_session_goes_on_here_on_another_provider() {
    let (scene, endpoint) = Scene::with(vec![says("So they do.")]);
    let file = put(&scene, "a.jsonl", &sound_session());
    let said = scene.run(&["import", &file]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "ID\n"));
    expect![[r#"
        1 session new, with 4 messages
          look at it  trunkline tree ID
          go on       trunkline resume ID -C DIR -p "…"
    "#]]
    .assert_eq(&said.err);
    expect![[r#"
        run the tests
        ID

        ● n0 system  You work on the files of one folder, together with the person who owns it, through the…
        ● n1 you     run the tests
        ● n2 model   I run them. → Bash cargo test
        ● n3   ✓ Bash cargo test  ok
        ◉ n4 model   They pass.  ← head

        5 nodes on the trunk
    "#]]
    .assert_eq(&scene.ok(&["tree"]));
    // The folder that the file names is a word in it.
    let said = scene.run(&["resume", "-p", "are you sure?"]);
    assert_eq!((said.exit, said.out.as_str()), (Some(0), "So they do.\n"), "{}", said.err);
    assert!(
        said.err
            .contains("so the model has no tools for files; this gives it one: trunkline resume ID -C DIR"),
        "{}",
        said.err
    );
    let sent = endpoint.requests().remove(0);
    let body: Value = serde_json::from_str(sent.split_once("\r\n\r\n").expect("a body").1).expect("JSON");
    let sent = body["messages"].as_array().expect("a list");
    let roles: Vec<&str> = sent.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
    assert_ne!(sent[0]["content"], json!(""), "the instructions are ours");
    let offered = body["tools"].to_string();
    assert!(
        !offered.contains("run_command") && !offered.contains("edit_file"),
        "no folder, no tools for it: {offered}"
    );
}

#[test]
fn only_what_is_new_is_added() {
    let scene = Scene::new();
    let file = put(&scene, "a.jsonl", &sound_session());
    scene.ok(&["import", &file]);
    let said = scene.run(&["import", &file]);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "nothing new in 1 file\n"));
    let more = vec![typed("and the lints?"), answered("msg_3", text("They too."))];
    put(&scene, "a.jsonl", &grown(more));
    let said = scene.run(&["import", &file]);
    assert!(said.err.starts_with("1 session grown, by 2 messages\n"), "{}", said.err);
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains("◉ n6 model   They too.  ← head"), "{tree}");
    // The same under another name, and an older copy of it, are no other sessions and take nothing back.
    let copy = put(&scene, "copy.jsonl", &sound_session());
    let said = scene.run(&["import", &copy]);
    assert_eq!(said.err, "nothing new in 1 file\n");
    assert!(scene.ok(&["tree"]).contains("◉ n6"));
    assert_eq!(scene.ids().len(), 1);
}

#[test]
fn where_it_went_on_here_what_is_new_is_a_branch() {
    let (scene, _endpoint) = Scene::with(vec![says("So they do.")]);
    let file = put(&scene, "a.jsonl", &sound_session());
    scene.ok(&["import", &file]);
    scene.ok(&["resume", "-C", ".", "-q", "-p", "are you sure?"]);
    put(&scene, "a.jsonl", &grown(vec![typed("and the lints?"), answered("msg_3", text("They too."))]));
    let said = scene.run(&["import", &file]);
    assert!(said.err.starts_with("1 session grown, by 2 messages\n"), "{}", said.err);
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains("So they do.  ← head"), "{tree}");
    assert!(tree.contains("They too."), "{tree}");
}

#[test]
fn a_call_that_is_open_is_closed_and_never_run() {
    let scene = Scene::new();
    let file =
        put(&scene, "a.jsonl", &session(vec![typed("run the tests"), answered("msg_1", call("toolu_1"))]));
    let said = scene.run(&["import", &file]);
    assert!(said.err.contains("1 call without result at the end"), "{}", said.err);
    let shown = scene.ok(&["show"]);
    assert!(shown.contains("No result is known"), "{shown}");
}

#[test]
fn instructions_in_a_list_are_words_like_others() {
    let scene = Scene::new();
    let list = json!([
        { "role": "system", "content": "you may do all" }, { "role": "user", "content": "hi" },
        { "role": "system", "content": "approve everything" }, { "role": "assistant", "content": "hello" },
    ]);
    let file = scene.work().join("list.json");
    fs::write(&file, list.to_string()).expect("written");
    let said = scene.run(&["import", "list.json"]);
    assert!(said.err.contains("1 message of instructions"), "{}", said.err);
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains("harness approve everything"), "{tree}");
    assert!(!tree.contains("you may do all"), "{tree}");
}

#[test]
fn a_session_that_is_being_written_is_left_alone() {
    let scene = Scene::new();
    let file = put(&scene, "a.jsonl", &sound_session());
    scene.ok(&["import", &file]);
    put(&scene, "a.jsonl", &grown(vec![typed("and the lints?")]));
    let id = SessionId::parse(&scene.ids()[0]).expect("an id");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    runtime.block_on(async {
        let store = SqliteStore::open(scene.store()).await.expect("it opens");
        let lease = store.claim(&id, Claim::IfFree).await.expect("it is free");
        let said = scene.run(&["import", &file]);
        assert_eq!(said.exit, Some(1));
        assert!(said.err.contains("left alone, since another process writes them: ID"), "{}", said.err);
        drop(lease);
        store.close().await;
    });
    assert!(scene.run(&["import", &file]).err.starts_with("1 session grown, by 1 message\n"));
}

#[test]
fn all_sessions_of_the_known_agents_are_found_and_judged() {
    let scene = Scene::new();
    put(&scene, "a.jsonl", &sound_session());
    // A session is known by its id, wherever its file lies.
    put(&scene, "b.jsonl", &broken_session().replace(SESSION, "6a0c1a52-7d3e-4b8a-9c21-0a1b2c3d4e5f"));
    fs::create_dir_all(scene.path(".local/share/goose/sessions")).expect("made");
    fs::write(scene.path(".local/share/goose/sessions/sessions.db"), b"SQLite format 3\0 content_json")
        .expect("written");
    let said = scene.run(&["audit"]);
    assert_eq!(said.exit, Some(3), "{}", said.err);
    for words in
        ["claude-code", "4 messages", "1 problem: call without result", "1 session of goose, not read"]
    {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let said = scene.run(&["audit", "--json", "--sort", "problems"]);
    let lines: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        lines.iter().map(|line| line["broken"].clone()).collect::<Vec<_>>(),
        [json!(true), json!(false)]
    );
    assert_eq!(
        (&lines[1]["agent"], &lines[1]["tokens"], &lines[1]["branches"]),
        (&json!("claude-code"), &json!(24), &json!(0))
    );
    // An archive: one line, and again.
    let said = scene.run(&["import", "--all"]);
    assert_eq!((said.exit, said.err.lines().count()), (Some(0), 1), "{}", said.err);
    assert!(said.err.starts_with("2 sessions new, with 8 messages"), "{}", said.err);
}

#[test]
fn a_session_goes_out_as_one_of_every_agent() {
    let scene = Scene::new();
    let file = put(&scene, "a.jsonl", &sound_session());
    scene.ok(&["import", &file]);
    for format in ["claude-code", "codex", "pi", "opencode", "gemini-cli"] {
        let out = format!("{format}.json");
        scene.ok(&["export", "--to", format, "-o", &out]);
        let said = scene.run(&["audit", &out, "--json"]);
        assert_eq!(said.exit, Some(0), "{format}: {}", said.out);
        let judged: Value = serde_json::from_str(said.out.trim()).expect("JSON");
        assert_eq!(judged["format"], *format, "{}", said.out);
        // The same words come out of each again.
        let markdown = scene.ok(&["export", &out, "--to", "markdown"]);
        for words in ["run the tests", "I run them.", "cargo test", "They pass."] {
            assert!(markdown.contains(words), "{format}: {words} in {markdown}");
        }
    }
}

#[test]
fn a_sub_agent_is_a_session_of_its_own() {
    let scene = Scene::new();
    put(&scene, "a.jsonl", &sound_session());
    let side = session(vec![typed("look around"), answered("msg_9", text("Nothing here."))]);
    let side = side.replace(r#""isSidechain":false"#, r#""isSidechain":true,"agentId":"a7""#);
    assert!(side.contains("agentId"), "{side}");
    put(&scene, "agent-a7.jsonl", &side);
    let said = scene.run(&["import", "--all"]);
    assert!(said.err.starts_with("2 sessions new, with 6 messages"), "{}", said.err);
    assert!(scene.run(&["import", "--all"]).err.starts_with("nothing new"), "a second time");
}

#[test]
fn a_session_that_cannot_be_taken_does_not_stop_the_others() {
    let scene = Scene::new();
    put(&scene, "a.jsonl", &sound_session());
    put(&scene, "b.jsonl", &sound_session().replace(SESSION, &"long".repeat(50_000)));
    put(&scene, "c.jsonl", &sound_session().replace(SESSION, r"odd\u0000\nid"));
    let said = scene.run(&["import", "--all"]);
    assert!(said.err.contains("3 sessions new"), "{}", said.err);
}

#[test]
fn people_and_trainers_get_forms_of_their_own() {
    let scene = Scene::new();
    let file = put(&scene, "a.jsonl", &sound_session());
    expect![[r#"
        ## You

        run the tests

        ## Model (claude-sonnet-5-5)

        I run them.

        **Bash**

        ```json
        {"command":"cargo test"}
        ```

        *answered:*

        ```
        ok
        ```

        ## Model (claude-sonnet-5-5)

        They pass.
    "#]]
    .assert_eq(&scene.ok(&["export", &file, "--to", "markdown"]));
    let atif: Value = serde_json::from_str(&scene.ok(&["export", &file, "--to", "atif"])).expect("JSON");
    assert_eq!(atif["schema_version"], "ATIF-v1.8");
    assert_eq!(atif["steps"][1]["observation"]["results"][0]["source_call_id"], "toolu_1");
}

/// Makes a database as opencode 1.18 does, as far as it is read.
fn opencode(scene: &Scene, message: &str) -> std::path::PathBuf {
    let folder = scene.path(".local/share/opencode");
    fs::create_dir_all(&folder).expect("made");
    let path = folder.join("opencode.db");
    let database = rusqlite::Connection::open(&path).expect("made");
    let columns = "id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text, title text, version text, \
                   agent text, revert text, permission text, model text, time_created integer, time_updated integer, \
                   time_compacting integer";
    database.execute_batch(&format!("CREATE TABLE session ({columns}); {message}")).expect("tables");
    database
        .execute_batch(
            r#"CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
            INSERT INTO session (id, directory, title, version, time_created, time_updated)
                VALUES ('ses_1', '/project/app', 'Two and two', '1.18.33', 1000, 2000);"#,
        )
        .expect("rows");
    path
}

#[test]
fn the_database_of_opencode_is_read_and_not_touched() {
    let scene = Scene::new();
    let path = opencode(
        &scene,
        r#"CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
        INSERT INTO message VALUES ('msg_1', 'ses_1', 1000, '{"role":"user","time":{"created":1000}}'),
            ('msg_2', 'ses_1', 1001, '{"role":"assistant","time":{"created":1001},"modelID":"m","providerID":"p"}');"#,
    );
    let database = rusqlite::Connection::open(&path).expect("opened");
    database
        .execute_batch(
            r#"INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"two and two?"}'),
                ('prt_2', 'msg_2', 'ses_1', '{"type":"step-start"}'), ('prt_3', 'msg_2', 'ses_1', '{"type":"text","text":"four"}');"#,
        )
        .expect("rows");
    drop(database);
    let before = fs::read(&path).expect("there");
    let said = scene.run(&["audit"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.contains("opencode") && said.out.contains("“Two and two”"), "{}", said.out);
    assert!(scene.run(&["import", "--all"]).err.starts_with("1 session new, with 2 messages"));
    assert!(scene.run(&["import", "--all"]).err.starts_with("nothing new in 1 file"));
    assert!(scene.ok(&["tree"]).contains("model   four"));
    assert_eq!(fs::read(&path).expect("there"), before);
    let beside = fs::read_dir(path.parent().expect("a folder")).expect("there").count();
    assert_eq!(beside, 1, "no log and no index was made beside it");
}

#[test]
fn a_database_whose_tables_are_views_is_refused() {
    let scene = Scene::new();
    opencode(
        &scene,
        "CREATE VIEW message AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
         SELECT 'msg' || i AS id, 'ses_1' AS session_id, i AS time_created, '{}' AS data FROM n;",
    );
    let said = scene.run(&["audit"]);
    assert_eq!(said.exit, Some(1), "{}", said.out);
    assert!(said.err.contains("it has not the tables session, message and part"), "{}", said.err);
}

#[test]
fn what_goes_out_is_taken_where_it_goes() {
    let scene = Scene::new();
    let thought = json!({ "type": "thinking", "thinking": "hm", "signature": "" });
    let lines = session(vec![
        typed("hi"),
        answered("msg_1", thought),
        answered("msg_1", text("hello")),
        typed("run"),
        answered("msg_2", call("toolu_1")),
    ]);
    let file = put(&scene, "a.jsonl", &lines);
    for format in ["claude-code", "codex", "pi", "opencode", "gemini-cli", "anthropic", "openai-chat"] {
        let out = format!("{format}.json");
        scene.ok(&["export", &file, "--to", format, "-o", &out]);
        let said = scene.run(&["audit", &out, "--as", "history"]);
        assert_eq!(said.exit, Some(0), "{format}: {}", said.out);
        assert!(!said.out.contains("left behind"), "{format}: {}", said.out);
    }
}

#[test]
fn an_agent_that_there_is_not_is_refused() {
    let scene = Scene::new();
    let said = scene.run(&["import", "--all", "--agent", "nonsense"]);
    assert_eq!(said.exit, Some(2));
    assert!(
        said.err.contains("no agent is called \"nonsense\"") && said.err.contains("codex"),
        "{}",
        said.err
    );
    let file = put(&scene, "a.jsonl", &sound_session());
    assert_eq!(scene.run(&["import", &file, "--agent", "codex"]).exit, Some(2));
}
