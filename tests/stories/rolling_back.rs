//! Taking a run back in a real repository, as a session does it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Agent, Approval, Cancel, Session, Stop, decided_runs};
use trunkline_tools::{CodingTools, workspace_for};

const FEW: &str = "TRUNKLINE_TEST_FEW_FILES";

async fn after_a_run(root: &Path, in_git: bool, files: &[String]) -> (Session, Arc<MemoryStore>) {
    if in_git {
        let made = Command::new("git").args(["init", "-q", "-b", "main"]).arg(root).status().unwrap();
        assert!(made.success());
    }
    let write =
        |call: &str, path: &str| (call.to_owned(), json!({ "path": path, "content": "by the run\n" }));
    let calls: Vec<_> = files.iter().map(|file| write(&format!("c {file}"), file)).collect();
    let model = Scripted::new("scripted", "writer", move |request| {
        match request.messages.last().and_then(|last| last.results().next()) {
            None => {
                calls.iter().fold(Turn::new(), |turn, (call, write)| turn.call(call, "write_file", write))
            }
            Some(_) => Turn::say("Done."),
        }
    });
    let agent = Agent::builder(model)
        .tools(CodingTools::new(root).unwrap().into_tools())
        .workspace(workspace_for(root).into())
        .approval(Approval::Always)
        .build()
        .unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    let stop = session.prompt("write two files", &Cancel::new()).await.unwrap();
    assert!(matches!(stop, Stop::Decided(_)));
    (session, store)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A person has taken one of two files back already: what is rolled back, and could be brought back, is the other.
#[test]
fn a_rollback_names_what_it_has_written_and_nothing_else() {
    for in_git in [true, false] {
        let home = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(home.path()).unwrap();
        block_on(async {
            let (mut session, store) =
                after_a_run(&root, in_git, &["a.txt", "b.txt"].map(str::to_owned)).await;
            let first = session.decisions().iter().next().unwrap().id();
            fs::remove_file(root.join("a.txt")).unwrap();
            let back = session.rollback(first, None).await.unwrap();
            assert!(!root.join("b.txt").exists());
            let runs = decided_runs(&store.load(session.id()).await.unwrap()).runs;
            let sets = &runs.last().unwrap().patch_sets;
            let named: Vec<&str> =
                sets.iter().flat_map(|set| set.files()).map(|file| file.path.as_str()).collect();
            let cited: Vec<&str> = back.cites().files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!((named, cited), (vec!["b.txt"], vec!["b.txt"]), "in git: {in_git}");
            // And so it can be taken back in its turn, where the bytes are kept.
            match session.rollback(back.id(), None).await {
                Ok(_) => {
                    assert_eq!(fs::read_to_string(root.join("b.txt")).unwrap(), "by the run\n");
                    assert!(!root.join("a.txt").exists());
                }
                Err(fault) => assert!(!in_git, "{fault}"),
            }
        });
    }
}

/// Not a test of its own: what is started where a program may open few files.
#[test]
fn child_that_rolls_back() {
    if std::env::var_os(FEW).is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(home.path()).unwrap();
    let names: Vec<String> = (0..120).map(|number| format!("{number}/a.txt")).collect();
    block_on(async {
        let (mut session, _) = after_a_run(&root, true, &names).await;
        let first = session.decisions().iter().next().unwrap().id();
        session.rollback(first, None).await.unwrap();
        // And back again, where each is written anew.
        let back = session.decisions().iter().last().unwrap().id();
        session.rollback(back, None).await.unwrap();
        assert!(names.iter().all(|name| root.join(name).exists()));
    });
}

/// As on many systems, where the limit is 1,024 until a program asks for more.
#[test]
fn many_files_are_taken_back_where_few_may_be_open() {
    let mut child = Command::new("sh");
    child.args(["-c", "ulimit -Sn 128 && exec \"$0\" --exact rolling_back::child_that_rolls_back"]);
    let output = child.arg(std::env::current_exe().unwrap()).env(FEW, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
