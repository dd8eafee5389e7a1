//! Sparse checkouts: what a run writes beside the files that are checked out counts as what it writes among them.

use std::fs;

use trunkline_agent_traits::{Bound, Commits, Workspace};
use trunkline_tools::GitWorkspace;

use crate::git_binding::{Scene, binding, git};
use crate::scene::block_on;

/// Of `a.txt`, `in/i`, `out/o` and `out/p` the first two are checked out.
fn sparse(options: &str) -> Scene {
    let scene = Scene::new();
    fs::create_dir_all(scene.root.join("in")).unwrap();
    fs::create_dir_all(scene.root.join("out")).unwrap();
    for file in ["in/i", "out/o", "out/p"] {
        fs::write(scene.root.join(file), "old\n").unwrap();
    }
    scene.git("add .");
    scene.git("commit -qm second");
    scene.git(&format!("sparse-checkout set {options} in"));
    assert!(!scene.root.join("out/o").exists());
    scene
}

fn committed(scene: &Scene, written: &[&str], binds: bool) -> String {
    let base = block_on(scene.workspace.base()).unwrap();
    for file in written {
        let file = scene.root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "by the run\n").unwrap();
    }
    let changes = block_on(scene.workspace.changes(&base, &[])).unwrap();
    let mut deciding = scene.work("a.txt");
    deciding.base = base;
    deciding.tree = block_on(scene.workspace.changes(&deciding.base, &[])).unwrap().tree.unwrap();
    assert_eq!(changes.files.len(), written.len());
    match binds {
        true => {
            let prepared = scene.prepare(&deciding);
            assert!(matches!(scene.bind(&binding(&prepared)), Bound::Done { .. }));
        }
        false => drop(block_on(scene.workspace.commit(&deciding)).unwrap().unwrap()),
    }
    assert_eq!(scene.git("status --porcelain"), "");
    scene.git("diff-tree -r --no-commit-id --name-status HEAD")
}

#[test]
fn what_is_written_outside_of_a_sparse_checkout_is_committed_and_nothing_goes() {
    for options in ["--cone", "--no-cone", "--cone --sparse-index"] {
        for binds in [false, true] {
            for (written, told) in [
                (&["in/i", "out/o"][..], "M\ta.txt\nM\tin/i\nM\tout/o\n"),
                (&["out/o"], "M\ta.txt\nM\tout/o\n"),
                (&["out/new", "other/new"], "M\ta.txt\nA\tother/new\nA\tout/new\n"),
            ] {
                let scene = sparse(options);
                assert_eq!(committed(&scene, written, binds), told, "{options}, binds: {binds}");
                let kept = git(&scene.root, "show HEAD:out/p");
                assert_eq!(kept, "old\n");
                assert!(!scene.root.join("out/p").exists(), "nothing is checked out");
            }
        }
    }
}

#[test]
fn a_folder_in_a_sparse_checkout_is_looked_at_alone() {
    let scene = sparse("--cone");
    fs::create_dir_all(scene.root.join("out")).unwrap();
    let workspace = GitWorkspace::open(scene.root.join("out")).unwrap().unwrap();
    let base = block_on(workspace.base()).unwrap();
    fs::write(scene.root.join("out/o"), "by the run\n").unwrap();
    fs::write(scene.root.join("a.txt"), "by a person\n").unwrap();
    let changes = block_on(workspace.changes(&base, &[])).unwrap();
    let names: Vec<&str> = changes.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["o"]);
}
