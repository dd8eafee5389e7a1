//! What stands under the refs may be anybody's.

use std::io::Write;
use std::process::Stdio;

use proptest::prelude::*;
use trunkline_decision_objects::GitOid;
use trunkline_git_binding::{BindError, Binding, Bound};

use crate::given::{Scratch, committed, given_up, plain_git, reference, run_id};

fn with_input(scratch: &Scratch, arguments: &[&str], input: &[u8]) -> String {
    let mut child = plain_git(scratch.root())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git runs");
    child.stdin.take().expect("a pipe").write_all(input).expect("it is read");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("an id").trim().to_owned()
}

fn blob(scratch: &Scratch, text: &str) -> String {
    with_input(scratch, &["hash-object", "-w", "--stdin"], text.as_bytes())
}

/// A tree of files, folders made of `/`.
fn tree(scratch: &Scratch, files: &[(String, String)]) -> String {
    let index = scratch.folder.path().join("index-of-the-test");
    let _ = std::fs::remove_file(&index);
    let lines: String =
        files.iter().map(|(path, text)| format!("100644 {}\t{path}\n", blob(scratch, text))).collect();
    let list = scratch.folder.path().join("list");
    std::fs::write(&list, lines).expect("a file");
    for arguments in [["update-index", "--index-info"].as_slice(), &["write-tree"]] {
        let stdin = std::fs::File::open(&list).expect("a file");
        let output =
            plain_git(scratch.root()).env("GIT_INDEX_FILE", &index).args(arguments).stdin(stdin).output();
        let output = output.expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        if arguments == ["write-tree"] {
            return String::from_utf8(output.stdout).expect("an id").trim().to_owned();
        }
    }
    unreachable!("the last command returns")
}

/// What a binding writes, by path.
fn files(binding: &Binding, commit: GitOid) -> Vec<(String, String)> {
    let mut files = vec![
        ("decision.json".to_owned(), binding.decision.print()),
        ("link.json".to_owned(), format!(r#"{{"type":"link","version":1,"commit":"{commit}"}}"#)),
        ("run.json".to_owned(), binding.run.print()),
    ];
    files.extend(binding.patch_sets.iter().map(|set| (format!("patch_sets/{}.json", set.id()), set.print())));
    files.extend(
        binding.evidence.iter().map(|found| (format!("evidence/{}.json", found.id()), found.print())),
    );
    files
}

/// Puts an object under the ref of run 1, and asks everything that reads it; none may panic, and none may believe it.
fn is_refused(scratch: &Scratch, object: &str, what: &str) {
    scratch.git(&["update-ref", &reference(1), object]);
    let repository = scratch.open();
    match repository.bound(run_id(1)) {
        Err(BindError::NotADecision { why, .. }) => assert!(!why.contains(char::is_control), "{why:?}"),
        other => panic!("{what}: {other:?}"),
    }
    // What all decisions are listed by may be in order where something else is not; then the rest is listed all the same.
    let all = repository.all().expect("a list");
    assert_eq!(all.decisions.iter().filter(|bound| bound.decision.run() == run_id(2)).count(), 1, "{what}");
    repository.find("HEAD").expect("a search");
    // The place is taken, and stays taken.
    let refused = repository.bind(&given_up(1, 99));
    assert!(
        matches!(refused, Err(BindError::NotADecision { .. } | BindError::AlreadyBound { .. })),
        "{what}"
    );
    assert_eq!(scratch.git(&["rev-parse", &reference(1)]), object);
}

#[test]
fn what_is_not_ours_is_refused_and_the_rest_is_read() {
    let scratch = Scratch::begun();
    let commit = scratch.oid("HEAD");
    let binding = committed(1, commit);
    assert!(matches!(scratch.open().bind(&given_up(2, 2)), Ok(Bound::Now { .. })));
    let good = files(&binding, commit);
    scratch.git(&["update-ref", &reference(1), &tree(&scratch, &good)]);
    assert_eq!(
        scratch.open().bound(run_id(1)).expect("it is read").expect("it is there").decision,
        binding.decision
    );

    is_refused(&scratch, &blob(&scratch, "a file"), "a blob");
    is_refused(&scratch, &commit.to_string(), "somebody's commit");
    let changed = |path: &str, text: Option<&str>| {
        let mut files: Vec<(String, String)> =
            good.iter().filter(|(known, _)| known != path).cloned().collect();
        files.extend(text.map(|text| (path.to_owned(), text.to_owned())));
        is_refused(&scratch, &tree(&scratch, &files), &format!("{path}: {text:?}"));
    };
    for (path, text) in &good {
        changed(path, None);
        changed(path, Some(""));
        changed(path, Some("null"));
        changed(path, Some(&text[..text.len() / 2]));
        changed(path, Some(&format!(" {text}")));
        changed(path, Some(&format!("{text}\n")));
        changed(path, Some(&text.replace("\"version\":1", "\"version\":2")));
        changed(path, Some(&text.replacen('{', "{\"\\u001b[31m\":1,", 1)));
        changed(path, Some(&text.replacen('{', "{\"version\":1,", 1)));
        changed(path, Some(&"[".repeat(100_000)));
    }
    let other = given_up(3, 3);
    changed("decision.json", Some(&other.decision.print()));
    changed("run.json", Some(&other.run.print()));
    changed("decision.json", Some(&given_up(1, 4).run.print()));
    changed("more.json", Some("{}"));
    changed("evidence/\u{1b}[31m.json", Some("{}"));
    changed("patch_sets/x/decision.json", Some("{}"));
    // The same name twice: one reader would take the first, another the last.
    let whole = tree(&scratch, &good);
    let second = blob(&scratch, &given_up(1, 4).decision.print());
    let list = scratch.git(&["ls-tree", &whole]) + &format!("\n100644 blob {second}\tdecision.json\n");
    is_refused(&scratch, &with_input(&scratch, &["mktree"], list.as_bytes()), "a name twice");
    let stray = committed(7, commit);
    changed(&format!("evidence/{}.json", stray.evidence[0].id()), Some(&stray.evidence[0].print()));
    changed("evidence/x.json", Some(&binding.evidence[0].print()));
    changed("link.json", Some(r#"{"type":"link","version":1}"#));
    changed("link.json", Some(r#"{"type":"link","version":1,"commit":null}"#));
    changed("link.json", Some(&format!(r#"{{"type":"link","version":1,"commit":"{}"}}"#, "0".repeat(41))));
    changed("link.json", Some(&format!(r#"{{"version":1,"type":"link","commit":"{commit}"}}"#)));
}

#[test]
fn refs_under_names_that_are_not_ours_are_listed_as_unreadable() {
    let scratch = Scratch::begun();
    assert!(matches!(scratch.open().bind(&given_up(2, 2)), Ok(Bound::Now { .. })));
    let good = scratch.git(&["rev-parse", &reference(2)]);
    let prefix = "refs/trunkline/decisions";
    let names = [
        format!("{prefix}/x"),
        format!("{prefix}/00/{}", run_id(2)),
        format!("{prefix}/02/{}", run_id(2).to_string().replace('-', "")),
        format!("{prefix}/00/00000000-0000-0000-0000-000000000000"),
        format!("{prefix}/ab/c/d"),
    ];
    for name in &names {
        scratch.git(&["update-ref", name, &good]);
    }
    let all = scratch.open().all().expect("a list");
    assert_eq!((all.decisions.len(), all.unreadable.len()), (1, names.len()));
}

#[test]
fn a_tag_or_a_branch_that_is_called_like_the_ref_is_not_taken_for_it() {
    let scratch = Scratch::begun();
    assert!(matches!(scratch.open().bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
    let tree = scratch.git(&["rev-parse", &reference(1)]);
    scratch.git(&["update-ref", "-d", &reference(1)]);
    scratch.git(&["update-ref", &format!("refs/tags/{}", reference(1)), &tree]);
    scratch.git(&["update-ref", &format!("refs/heads/{}", reference(1)), "HEAD"]);
    assert_eq!(scratch.open().bound(run_id(1)).expect("it is read"), None);
    assert!(matches!(scratch.open().bind(&given_up(1, 2)), Ok(Bound::Now { .. })));
}

#[test]
fn objects_that_are_replaced_are_read_as_they_were() {
    let scratch = Scratch::begun();
    assert!(matches!(scratch.open().bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
    let spec = format!("{}:decision.json", reference(1));
    let old = scratch.git(&["rev-parse", &spec]);
    let new = blob(&scratch, &given_up(1, 2).decision.print());
    scratch.git(&["replace", &old, &new]);
    assert!(scratch.git(&["show", &spec]).contains(&given_up(1, 2).decision.id().to_string()));
    let read = scratch.open().bound(run_id(1)).expect("it is read").expect("it is there");
    assert_eq!(read.decision, given_up(1, 1).decision);
}

#[test]
fn a_ref_that_lost_its_objects_is_told_and_the_rest_is_read() {
    let scratch = Scratch::begun();
    let repository = scratch.open();
    let binding = given_up(1, 1);
    assert!(matches!(repository.bind(&given_up(2, 2)), Ok(Bound::Now { .. })));
    assert!(matches!(repository.bind(&binding), Ok(Bound::Now { .. })));
    let tree = scratch.git(&["rev-parse", &reference(1)]);
    let file = scratch.git(&["rev-parse", &format!("{tree}:decision.json")]);
    for oid in [file, tree] {
        let path = scratch.root().join(".git/objects").join(&oid[..2]).join(&oid[2..]);
        for text in [Some(""), Some("damaged"), None] {
            let _ = std::fs::remove_file(&path);
            text.into_iter().for_each(|text| std::fs::write(&path, text).expect("a file"));
            let refused = repository.bind(&binding).expect_err("it cannot be read");
            assert!(matches!(refused, BindError::NotADecision { .. }), "{refused}");
            let refused = repository.bound(run_id(1)).expect_err("it cannot be read");
            assert!(matches!(refused, BindError::NotADecision { .. }), "{refused}");
            let all = repository.all().expect("a list");
            assert_eq!((all.decisions.len(), all.unreadable.len()), (1, 1));
        }
    }
    // The files are gone now, so they are written again.
    scratch.git(&["update-ref", "-d", &reference(1)]);
    assert!(matches!(repository.bind(&binding), Ok(Bound::Now { .. })));
    assert_eq!(repository.all().expect("a list").decisions.len(), 2);
    scratch.git(&["fsck", "--strict", "--no-dangling"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_any_file_are_refused_or_change_nothing(
        file in 0_usize..5, at in any::<prop::sample::Index>(), with in any::<char>(),
    ) {
        let scratch = Scratch::begun();
        let commit = scratch.oid("HEAD");
        let binding = committed(1, commit);
        let mut files = files(&binding, commit);
        let place = file % files.len();
        let text: Vec<char> = files[place].1.chars().collect();
        let at = at.index(text.len());
        let changed: String = text[..at].iter().chain(std::iter::once(&with)).chain(&text[at + 1..]).collect();
        files[place].1 = changed;
        scratch.git(&["update-ref", &reference(1), &tree(&scratch, &files)]);
        let repository = scratch.open();
        repository.all().expect("a list");
        match repository.bound(run_id(1)) {
            // Words and numbers may say something else; then they say it in the canonical form, and under the right names.
            Ok(Some(read)) => {
                prop_assert_eq!(read.decision.run(), run_id(1));
                prop_assert_eq!(&read.decision.print(), &files[0].1);
                prop_assert!(read.decision.check_grounds(&read.patch_sets, &read.evidence).is_ok());
            }
            Err(BindError::NotADecision { why, .. }) => prop_assert!(!why.contains(char::is_control)),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
