//! What holds of every text, as git-internal reads it and as we do.

use proptest::prelude::*;
use trunkline_decision_objects::git_internal::{Imported, Kind, Violation, import, import_as};
use trunkline_git_internal::respelled;

use crate::grammar::{Care, any_kind, text};

/// Keys under which `null` is written, and read as absent.
const NULLS: [&str; 9] =
    ["temperature", "cost_usd", "spec", "parameters", "metrics", "outputs", "data", "inputs", "checks"];

/// Both readers take the text or both refuse it, and both write the same; tells whether they take it.
pub(crate) fn agree(kind: Kind, json: &[u8]) -> Result<bool, TestCaseError> {
    check(kind, json).map(|imported| imported.is_some())
}

/// Returns the text as git-internal writes it again: what stands for a number that was none, or for a JSON value that is null,
/// is lost there and stays here.
pub(crate) fn without_nulls(imported: &Imported) -> String {
    let is_null = |one: &Violation| matches!(one, Violation::NotANumber { .. } | Violation::NullValue { .. });
    match imported.violations.iter().any(is_null) {
        true => {
            NULLS.iter().fold(imported.print(), |text, key| text.replace(&format!(",\"{key}\":null"), ""))
        }
        false => imported.print(),
    }
}

fn check(kind: Kind, json: &[u8]) -> Result<Option<Imported>, TestCaseError> {
    let shown = String::from_utf8_lossy(json);
    match (respelled(kind, json), import_as(kind, json)) {
        (Ok(theirs), Ok(imported)) => {
            prop_assert_eq!(&without_nulls(&imported), &theirs, "{}", shown);
            let again = import_as(kind, theirs.as_bytes()).expect("it reads what it writes");
            prop_assert_eq!(again.print(), theirs);
            prop_assert!(!again.violations.contains(&Violation::Respelled));
            prop_assert_eq!(&imported.original, json);
            Ok(Some(imported))
        }
        (Err(_), Err(_)) => Ok(None),
        (Ok(theirs), Err(refused)) => {
            Err(TestCaseError::fail(format!("{refused}: {shown}\ntaken as {theirs}")))
        }
        // The one thing that it writes and refuses to read is taken and listed.
        (Err(_), Ok(imported))
            if imported.violations.iter().any(|one| matches!(one, Violation::Unreadable { .. })) =>
        {
            Ok(None)
        }
        (Err(refused), Ok(_)) => Err(TestCaseError::fail(format!("taken by us alone: {shown}\n{refused}"))),
    }
}

proptest! {
    #[test]
    fn what_it_writes_is_read_and_written_byte_for_byte(
        (kind, json) in any_kind().prop_flat_map(|kind| (Just(kind), text(kind, Care::Even))),
    ) {
        let imported = check(kind, json.as_bytes())?;
        let imported = imported.ok_or_else(|| TestCaseError::fail(format!("both refuse {json}")))?;
        prop_assert!(!imported.violations.contains(&Violation::Respelled), "{}", json);
        prop_assert_eq!(imported.print(), json);
    }

    #[test]
    fn what_it_reads_in_other_spellings_is_read_as_the_same(
        (kind, json) in any_kind().prop_flat_map(|kind| (Just(kind), text(kind, Care::Loose))),
    ) {
        check(kind, json.as_bytes())?;
    }

    #[test]
    fn what_it_refuses_is_refused(
        (kind, json) in any_kind().prop_flat_map(|kind| (Just(kind), text(kind, Care::Careless))),
    ) {
        check(kind, json.as_bytes())?;
    }

    #[test]
    fn a_changed_byte_is_taken_or_refused_by_both(
        (kind, json) in any_kind().prop_flat_map(|kind| (Just(kind), text(kind, Care::Even))),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = json.into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Ok(json) = String::from_utf8(bytes) {
            check(kind, json.as_bytes())?;
        }
    }

    #[test]
    fn the_kind_is_read_off_the_object(
        (kind, json) in any_kind().prop_flat_map(|kind| (Just(kind), text(kind, Care::Even))),
    ) {
        if json.contains(&format!("\"object_type\":\"{kind}\"")) {
            prop_assert_eq!(import(json.as_bytes()), import_as(kind, json.as_bytes()));
        }
    }
}
