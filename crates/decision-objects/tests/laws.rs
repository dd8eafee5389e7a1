//! What holds of every value.

use proptest::prelude::*;
use trunkline_decision_objects::{
    Admission, Closing, Decision, Decisions, Digest, Evidence, GitOid, Label, LedgerError, ParseError,
    PatchSet, Run, RunRecord, Timestamp, git_internal,
};

use crate::given::{
    any_decision, any_evidence, any_label, any_oid, any_patch_set, any_run, any_time, any_verdict, closing,
    patch_set, run_id,
};

/// The whole round trip, and every mutation of the structure.
fn check<T: PartialEq + std::fmt::Debug>(
    value: &T,
    text: &str,
    digest: Digest,
    parse: impl Fn(&[u8]) -> Result<T, ParseError>,
    print: impl Fn(&T) -> String,
) -> Result<(), TestCaseError> {
    let parsed = parse(text.as_bytes());
    prop_assert_eq!(parsed.as_ref(), Ok(value));
    prop_assert_eq!(parsed.map(|parsed| print(&parsed)), Ok(text.to_owned()));
    prop_assert_eq!(Digest::of(text.as_bytes()), digest);
    for mutated in structural_mutations(text) {
        if let Ok(other) = parse(&mutated) {
            prop_assert_eq!(&other, value, "{}", String::from_utf8_lossy(&mutated));
        }
    }
    Ok(())
}

/// Every text that differs in one byte of structure: quotes, brackets, commas, colons.
fn structural_mutations(text: &str) -> Vec<Vec<u8>> {
    const STRUCTURE: &[u8] = b"{}[],:\"\\ \n";
    let bytes = text.as_bytes();
    let mut mutations = Vec::new();
    let (mut inside, mut escaped) = (false, false);
    for (place, &byte) in bytes.iter().enumerate() {
        let quote = byte == b'"' && !escaped;
        escaped = inside && byte == b'\\' && !escaped;
        if inside && !quote {
            continue;
        }
        inside ^= quote;
        if !STRUCTURE.contains(&byte) {
            continue;
        }
        let (before, after) = (&bytes[..place], &bytes[place + 1..]);
        mutations.push([before, after].concat());
        for &other in STRUCTURE {
            mutations.push([before, &[other], after].concat());
            if !quote {
                mutations.push([before, &[byte, other], after].concat());
            }
        }
    }
    mutations
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_run_comes_back_from_its_text(run in any_run()) {
        check(&run, &run.print(), run.digest(), RunRecord::parse, RunRecord::print)?;
    }

    #[test]
    fn a_patch_set_comes_back_from_its_text(patch_set in any_patch_set()) {
        check(&patch_set, &patch_set.print(), patch_set.digest(), PatchSet::parse, PatchSet::print)?;
    }

    #[test]
    fn evidence_comes_back_from_its_text(evidence in any_evidence()) {
        check(&evidence, &evidence.print(), evidence.digest(), Evidence::parse, Evidence::print)?;
    }

    #[test]
    fn a_decision_comes_back_from_its_text(decision in any_decision()) {
        check(&decision, &decision.print(), decision.digest(), Decision::parse, Decision::print)?;
        let verified = Decision::parse_verified(decision.print().as_bytes(), decision.digest());
        prop_assert_eq!(verified, Ok(decision));
    }

    #[test]
    fn a_changed_byte_is_refused_or_changes_the_digest(
        decision in any_decision(),
        place in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let mut bytes = decision.print().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Ok(verified) = Decision::parse_verified(&bytes, decision.digest()) {
            prop_assert_eq!(verified, decision);
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_parser_panic(bytes: Vec<u8>, text in "[{}\\[\\]\",:a-z0-9\\\\ ]{0,64}") {
        for json in [bytes.as_slice(), text.as_bytes()] {
            let _ = RunRecord::parse(json);
            let _ = PatchSet::parse(json);
            let _ = Evidence::parse(json);
            let _ = Decision::parse(json);
            let _ = git_internal::import(json);
        }
        let _ = (text.parse::<Timestamp>(), text.parse::<GitOid>(), Label::new(text));
    }

    #[test]
    fn a_time_comes_back_from_its_text(time in any_time()) {
        prop_assert_eq!(time.to_string().parse(), Ok(time));
    }

    #[test]
    fn times_sort_as_instants(one in any_time(), other in any_time()) {
        if one.milliseconds() != other.milliseconds() {
            prop_assert_eq!(one < other, one.milliseconds() < other.milliseconds());
        }
    }

    #[test]
    fn a_git_name_comes_back_from_its_text(oid in any_oid()) {
        prop_assert_eq!(oid.to_string().parse(), Ok(oid));
        prop_assert_eq!(oid.to_string().to_uppercase().parse(), Ok(oid));
    }

    #[test]
    fn a_label_is_never_a_reserved_word(
        word in prop::sample::select(&["commit", "checkpoint", "abandon", "retry", "rollback", "other"]),
        upper in any::<u16>(),
        place in any::<prop::sample::Index>(),
        noise in prop::sample::select(&["", " ", "-", "_", "\t", "."]),
    ) {
        let cased: String = word
            .chars()
            .enumerate()
            .map(|(index, letter)| if upper >> index & 1 == 1 { letter.to_ascii_uppercase() } else { letter })
            .collect();
        let (head, tail) = cased.split_at(place.index(cased.len() + 1));
        let text = [head, noise, tail].concat();
        prop_assert!(Label::new(text).is_err());
    }

    #[test]
    fn a_misspelt_verdict_is_never_a_label(
        word in prop::sample::select(&["commit", "checkpoint", "abandon", "retry", "rollback"]),
        place in any::<prop::sample::Index>(),
        letter in prop::option::of("[a-z]"),
        swallow in any::<bool>(),
    ) {
        let place = place.index(word.len());
        let (head, tail) = (&word[..place], &word[place + usize::from(swallow)..]);
        let letter = letter.unwrap_or_default();
        let text = [head, &letter, tail].concat();
        prop_assert!(Label::new(text).is_err());
    }

    #[test]
    fn a_label_comes_back_from_its_text(label in any_label()) {
        prop_assert_eq!(Label::new(label.as_str()), Ok(label));
    }

    #[test]
    fn however_often_a_run_is_decided_the_first_decision_stands(verdicts in prop::collection::vec(any_verdict(), 1..5)) {
        let mut decisions = Decisions::new();
        let mut first = None;
        for (number, verdict) in (1_u128..).zip(verdicts) {
            // Each process that believes the run to be open has its own copy of the record.
            let run = Run::reopen(crate::given::open_run(1).record().clone(), &Decisions::new()).unwrap();
            let patch_sets: Vec<PatchSet> = verdict
                .patch_set()
                .map(|id| PatchSet::new(id, run_id(1), None, Vec::new(), patch_set(1, 1).diff().clone()).unwrap())
                .into_iter()
                .collect();
            let (_, decision) = run.decide(verdict, Closing { patch_sets: &patch_sets, ..closing(number) }).unwrap();
            let first = first.get_or_insert_with(|| decision.clone());
            let admitted = decisions.admit(decision.clone());
            if decision == *first {
                prop_assert_eq!(admitted, Ok(Admission::New));
                prop_assert_eq!(decisions.admit(decision), Ok(Admission::Known));
            } else {
                prop_assert!(matches!(admitted, Err(LedgerError::AlreadyDecided(already)) if already.first == first.id()));
            }
            prop_assert_eq!(decisions.of_run(run_id(1)), Some(&*first));
        }
    }

    #[test]
    fn what_is_exported_is_imported_to_the_same_bytes(decision in any_decision()) {
        let exported = git_internal::print(&decision);
        let imported = git_internal::import(exported.as_bytes()).unwrap();
        prop_assert_eq!(&imported.print(), &exported);
        prop_assert!(!imported.violations.contains(&git_internal::Violation::Respelled));
        if let Some(again) = imported.decision {
            prop_assert_eq!(again.id(), decision.id());
            prop_assert_eq!(again.verdict().kind(), decision.verdict().kind());
            prop_assert_eq!(git_internal::print(&again), exported);
        }
    }
}
