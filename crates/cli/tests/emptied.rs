//! Folders after a rollback: in git those that are empty then go, elsewhere all stay.

use serde_json::json;

use crate::deciding_runs::in_git;
use crate::fake::{Endpoint, Scene, calls_all, says};

/// A run that writes these files, in a repository or not.
fn wrote(paths: &[&str], in_a_repository: bool, before: impl Fn(&Scene)) -> (Scene, Endpoint) {
    let writes: Vec<(&str, String)> = paths
        .iter()
        .map(|path| ("write_file", json!({ "path": path, "content": "new\n" }).to_string()))
        .collect();
    let (scene, endpoint) = Scene::with(vec![calls_all(&writes), says("Done.")]);
    if in_a_repository {
        in_git(&scene);
    }
    before(&scene);
    scene.ok(&["run", "write them", "-q", "--yes"]);
    (scene, endpoint)
}

fn is_there(scene: &Scene, path: &str) -> bool {
    scene.work().join(path).exists()
}

#[test]
fn folders_that_a_run_made_go_with_their_files_and_others_stay() {
    let paths = ["made/deep/a.txt", "theirs/b.txt", "made/shared/c.txt"];
    for in_a_repository in [true, false] {
        let (scene, _endpoint) = wrote(&paths, in_a_repository, |scene| {
            std::fs::create_dir(scene.work().join("theirs")).expect("made");
            std::fs::write(scene.work().join("theirs/kept.txt"), "kept\n").expect("written");
        });
        // Somebody uses one of them since.
        std::fs::write(scene.work().join("made/shared/mine.txt"), "mine\n").expect("written");
        scene.ok(&["decide", "rollback", "last", "--yes"]);
        for path in paths {
            assert!(!is_there(&scene, path), "{path}");
        }
        assert!(is_there(&scene, "made/shared/mine.txt") && is_there(&scene, "theirs/kept.txt"));
        // Outside of git nobody has kept which folders there were: an empty one is left rather than one too many taken.
        assert_eq!(is_there(&scene, "made/deep"), !in_a_repository);
    }
}

/// Wrong in git, which knows of no folder without a file: one that was there and empty goes too.
#[test]
fn an_empty_folder_from_before_the_run_goes_in_git_and_stays_elsewhere() {
    for in_a_repository in [true, false] {
        let (scene, _endpoint) = wrote(&["empty/a.txt"], in_a_repository, |scene| {
            std::fs::create_dir(scene.work().join("empty")).expect("made");
        });
        scene.ok(&["decide", "rollback", "last", "--yes"]);
        assert!(!is_there(&scene, "empty/a.txt"));
        assert_eq!(is_there(&scene, "empty"), !in_a_repository);
    }
}
