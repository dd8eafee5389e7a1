//! Whole families as the command exports them, as git-internal itself reads them.

use proptest::prelude::*;
use trunkline_decision_objects::Family;
use trunkline_decision_objects::git_internal::{export, import};
use trunkline_git_internal::respelled;

use crate::given_family::{any_world, based};
use crate::laws::without_nulls;

/// What `trunkline decisions --export git-internal` writes of a family with every kind: its own tests compare this text.
const WRITTEN: &str = include_str!("../../../crates/cli/tests/families/git-internal.jsonl");

#[test]
fn it_reads_what_the_command_has_written() {
    let mut kinds = std::collections::BTreeSet::new();
    for line in WRITTEN.lines() {
        let imported = import(line.as_bytes()).unwrap();
        kinds.insert(imported.kind.to_string());
        assert_eq!(respelled(imported.kind, line.as_bytes()).unwrap(), line);
        assert_eq!(imported.print(), line);
    }
    assert!(kinds.len() > 2, "{kinds:?}");
}

proptest! {
    #[test]
    fn it_reads_every_family_that_we_export(world in any_world()) {
        let family: Family = based(world).objects.into_iter().collect();
        for one in export(&family) {
            let json = one.projected.unwrap().json;
            let imported = import(json.as_bytes()).unwrap();
            let theirs = respelled(imported.kind, json.as_bytes());
            let theirs = theirs.map_err(|error| TestCaseError::fail(format!("{error}: {json}")))?;
            prop_assert_eq!(&theirs, &without_nulls(&imported));
            // What they write again comes to the same.
            prop_assert_eq!(import(theirs.as_bytes()).unwrap().object, imported.object);
        }
    }
}
