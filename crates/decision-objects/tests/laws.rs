//! What holds of every value.

use proptest::prelude::*;
use serde::de::IgnoredAny;
use trunkline_decision_objects::{
    Admission, Closing, ContextSnapshot, Decision, Decisions, Digest, Evidence, GitOid, Intent, JsonText,
    Label, LedgerError, Opening, ParseError, PatchSet, Plan, Predecessor, Provenance, Run, RunRecord, Task,
    Timestamp, git_internal,
};

use crate::given::{
    any_decision, any_evidence, any_label, any_oid, any_patch_set, any_run, any_time, any_verdict, closing,
    one_in, opening, patch_set, run_id,
};
use crate::given_snapshots::{any_intent, any_plan, any_provenance, any_snapshot, any_task};

/// Everything that has a canonical form.
trait Kept: PartialEq + std::fmt::Debug + Sized {
    fn print(&self) -> String;
    fn digest(&self) -> Digest;
    fn parse(json: &[u8]) -> Result<Self, ParseError>;
    fn parse_verified(json: &[u8], expected: Digest) -> Result<Self, ParseError>;
}

macro_rules! kept {
    ($($name:ident),+) => {
        $(impl Kept for $name {
            fn print(&self) -> String {
                $name::print(self)
            }
            fn digest(&self) -> Digest {
                $name::digest(self)
            }
            fn parse(json: &[u8]) -> Result<Self, ParseError> {
                $name::parse(json)
            }
            fn parse_verified(json: &[u8], expected: Digest) -> Result<Self, ParseError> {
                $name::parse_verified(json, expected)
            }
        })+
    };
}

kept!(RunRecord, PatchSet, Evidence, Decision, Intent, Plan, Task, ContextSnapshot, Provenance);

/// The whole round trip, in any order of keys, and every mutation of the structure.
fn check<T: Kept>(value: &T) -> Result<(), TestCaseError> {
    let text = value.print();
    let verified = T::parse_verified(text.as_bytes(), value.digest());
    prop_assert_eq!(verified.as_ref(), Ok(value));
    prop_assert_eq!(T::parse(text.as_bytes()).map(|parsed| parsed.print()), Ok(text.clone()));
    prop_assert_eq!(Digest::of(text.as_bytes()), value.digest());
    let turned = turned_round(&serde_json::from_str(&text).expect("it is JSON"));
    let verified = T::parse_verified(turned.as_bytes(), value.digest());
    prop_assert_eq!(verified.as_ref(), Ok(value), "{}", turned);
    for mutated in structural_mutations(&text) {
        if let Ok(other) = T::parse(&mutated) {
            prop_assert!(serde_json::from_slice::<IgnoredAny>(&mutated).is_ok(), "what is no JSON was taken");
            prop_assert_eq!(&other, value, "{}", String::from_utf8_lossy(&mutated));
        }
    }
    Ok(())
}

/// Whatever one byte is changed to: an error that says where, or a value that prints as itself, and another digest.
fn check_changed<T: Kept>(value: &T, place: &prop::sample::Index, byte: u8) -> Result<(), TestCaseError> {
    let mut bytes = value.print().into_bytes();
    let place = place.index(bytes.len());
    bytes[place] = byte;
    match T::parse(&bytes) {
        Ok(other) => {
            prop_assert!(serde_json::from_slice::<IgnoredAny>(&bytes).is_ok(), "what is no JSON was taken");
            let again = T::parse(other.print().as_bytes());
            prop_assert_eq!(again.as_ref(), Ok(&other));
            let same = T::parse_verified(&bytes, value.digest()).is_ok();
            prop_assert_eq!(same, other == *value);
        }
        Err(error) => prop_assert!(error.path().starts_with('$') && error.to_string().contains(": ")),
    }
    Ok(())
}

/// The same JSON with the keys of each object in another order, and white space wherever it can stand.
fn turned_round(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .rev()
                .map(|(key, value)| format!("\n{} :\t{}", serde_json::json!(key), turned_round(value)))
                .collect();
            format!(" {{{} }}", entries.join(" ,"))
        }
        serde_json::Value::Array(items) => {
            format!("[ {}\r]", items.iter().map(turned_round).collect::<Vec<_>>().join(", "))
        }
        leaf => leaf.to_string(),
    }
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
    // Each case tries thousands of texts. A thousand of them take half a minute; the next round draws others.
    #![proptest_config(ProptestConfig { cases: one_in(5).cases.min(1_000), ..one_in(5) })]

    #[test]
    fn a_run_comes_back_from_its_text(value in any_run()) {
        check(&value)?;
    }

    #[test]
    fn a_patch_set_comes_back_from_its_text(value in any_patch_set()) {
        check(&value)?;
    }

    #[test]
    fn evidence_comes_back_from_its_text(value in any_evidence()) {
        check(&value)?;
    }

    #[test]
    fn a_decision_comes_back_from_its_text(value in any_decision()) {
        check(&value)?;
    }

    #[test]
    fn an_intent_comes_back_from_its_text(value in any_intent()) {
        check(&value)?;
    }

    #[test]
    fn a_plan_comes_back_from_its_text(value in any_plan()) {
        check(&value)?;
    }

    #[test]
    fn a_task_comes_back_from_its_text(value in any_task()) {
        check(&value)?;
    }

    #[test]
    fn a_snapshot_comes_back_from_its_text(value in any_snapshot()) {
        check(&value)?;
    }

    #[test]
    fn provenance_comes_back_from_its_text(value in any_provenance()) {
        check(&value)?;
    }
}

proptest! {
    #[test]
    fn a_run_with_a_changed_byte_is_another_or_refused(value in any_run(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
    }

    #[test]
    fn a_patch_set_with_a_changed_byte_is_another_or_refused(value in any_patch_set(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
    }

    #[test]
    fn evidence_with_a_changed_byte_is_another_or_refused(value in any_evidence(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
    }

    #[test]
    fn a_decision_with_a_changed_byte_is_another_or_refused(value in any_decision(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
    }

    #[test]
    fn an_intent_with_a_changed_byte_is_another_or_refused(value in any_intent(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
    }

    #[test]
    fn a_plan_with_a_changed_byte_is_another_or_refused(value in any_plan(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
    }

    #[test]
    fn a_task_with_a_changed_byte_is_another_or_refused(value in any_task(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
    }

    #[test]
    fn a_snapshot_with_a_changed_byte_is_another_or_refused(value in any_snapshot(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
    }

    #[test]
    fn provenance_with_a_changed_byte_is_another_or_refused(value in any_provenance(), place: prop::sample::Index, byte: u8) {
        check_changed(&value, &place, byte)?;
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
            let _ = Intent::parse(json);
            let _ = Plan::parse(json);
            let _ = Task::parse(json);
            let _ = ContextSnapshot::parse(json);
            let _ = Provenance::parse(json);
            let _ = git_internal::import(json);
        }
        let _ = (text.parse::<Timestamp>(), text.parse::<GitOid>(), JsonText::new(text.as_str()), Label::new(text));
    }

    #[test]
    fn a_time_comes_back_from_its_text(time in any_time()) {
        prop_assert_eq!(time.to_string().parse(), Ok(time));
    }

    /// The other times are drawn by way of their text; a fault in printing would draw none that shows it.
    #[test]
    fn a_time_comes_back_from_the_text_of_its_milliseconds(milliseconds in 0_i64..=253_402_207_200_999) {
        let time = Timestamp::from_milliseconds(milliseconds).expect("not after 9999-12-30T22:00:00.999Z");
        prop_assert_eq!(time.to_string().parse::<Timestamp>().map(Timestamp::milliseconds), Ok(milliseconds));
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
    fn what_follows_from_a_decision_is_what_the_next_run_may_be(decision in any_decision()) {
        let decisions = { let mut stored = Decisions::new(); stored.admit(decision.clone()).unwrap(); stored };
        for predecessor in [Predecessor::RetryOf(decision.run()), Predecessor::Continues(decision.run())] {
            let next = Run::open(Opening { predecessor: Some(predecessor), ..opening(2) }).unwrap();
            let allowed = decisions.check_predecessor(next.record()).is_ok();
            prop_assert_eq!(allowed, decision.consequences().next_run() == Some(predecessor));
        }
    }

    #[test]
    fn what_is_exported_is_imported_to_the_same_bytes(decision in any_decision()) {
        let exported = git_internal::print(&decision);
        let imported = git_internal::import(exported.as_bytes()).unwrap();
        prop_assert_eq!(&imported.print(), &exported);
        prop_assert!(!imported.violations.contains(&git_internal::Violation::Respelled));
        if let Some(again) = imported.decision() {
            prop_assert_eq!(again.id(), decision.id());
            prop_assert_eq!(again.verdict().kind(), decision.verdict().kind());
            prop_assert_eq!(git_internal::print(again), exported);
        }
    }
}
