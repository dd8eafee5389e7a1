//! What holds for every path and every text.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use serde_json::json;

use crate::scene::{Scene, names};

/// Paths made of what leads astray.
fn paths() -> impl Strategy<Value = String> {
    let step = prop::sample::select(vec![
        "..", ".", "", "vault", "key", "folder", "inside", "file", "out", "up", "loop", "key-link", "new",
        ".git", "~", "$HOME",
    ]);
    (any::<bool>(), prop::collection::vec(step, 1..6))
        .prop_map(|(absolute, steps)| format!("{}{}", if absolute { "/" } else { "" }, steps.join("/")))
}

fn trap() -> Scene {
    let scene = Scene::new();
    scene.write("inside/file", "inside\n");
    fs::create_dir(scene.outside("vault")).unwrap();
    fs::write(scene.outside("vault/key"), "secret").unwrap();
    symlink(scene.outside("vault"), scene.root().join("out")).unwrap();
    symlink("..", scene.root().join("up")).unwrap();
    symlink("loop", scene.root().join("loop")).unwrap();
    symlink("../../vault/key", scene.root().join("inside/key-link")).unwrap();
    scene
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn no_path_reads_or_writes_outside(path in paths()) {
        let scene = trap();
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("search_text", json!({"path": path, "pattern": "sec.et"})),
            ("edit_file", json!({"path": path, "old_text": "secret", "new_text": "gone"})),
        ] {
            let said = scene.said(tool, arguments);
            prop_assert!(!said.contains("secret"), "{tool}: {said}");
        }
        for proposal in scene.call("write_file", json!({"path": path, "content": "mine"})).proposals {
            scene.apply(&proposal);
        }
        prop_assert_eq!(names(&scene.outside("")), ["folder", "vault"]);
        prop_assert_eq!(names(&scene.outside("vault")), ["key"]);
        prop_assert_eq!(fs::read_to_string(scene.outside("vault/key")).unwrap(), "secret");
    }

    #[test]
    fn what_was_staged_is_what_is_written(old in ".{0,40}", new in "(?s).{0,200}") {
        let scene = Scene::new();
        scene.write("a", &old);
        for proposal in scene.call("write_file", json!({"path": "a", "content": new})).proposals {
            prop_assert!(scene.apply(&proposal).starts_with("Done"));
            prop_assert_eq!(scene.observe("a"), proposal.after);
        }
        // A mark stays in front.
        let marked = old.starts_with('\u{feff}') && !new.is_empty() && !new.starts_with('\u{feff}');
        prop_assert_eq!(scene.read("a"), Some(if marked { format!("\u{feff}{new}") } else { new }));
    }
}

proptest! {
    // Each of these starts two processes.
    #![proptest_config(cases(24))]

    #[test]
    fn no_output_of_a_command_breaks_the_line_that_it_is_shown_in(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let scene = Scene::new();
        scene.write("bytes", &bytes);
        let mut policy = trunkline_tools::CommandPolicy::default();
        policy.output_limit = 50;
        let scene_with_limit = Scene::with(policy);
        scene_with_limit.write("bytes", &bytes);
        for scene in [scene, scene_with_limit] {
            let said = scene.said("run_command", json!({"command": "cat bytes"}));
            prop_assert!(!said.chars().any(|one| one.is_control() && one != '\n' && one != '\t'), "{said:?}");
        }
    }
}
