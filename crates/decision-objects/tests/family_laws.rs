//! What holds of every family.

use proptest::prelude::*;
use serde_json::Value;
use trunkline_decision_objects::{Added, Family, Object, ObjectKind, Rule, Violation};
use uuid::Uuid;

use crate::faults::FAULTS;
use crate::given::one_in;
use crate::given_family::{End, Shape, World, any_world};
use crate::given_objects::any_object;

/// A family with a place for every fault, with the one or the other last run.
fn rich(last: End) -> World {
    use End::{Abandon, Answered, Checkpoint, Commit, Open, Retry, Rollback};
    let mut number = 0;
    World::of(&[Commit, Retry, Checkpoint, Commit, Abandon, Rollback, Answered, Open, Commit, last].map(
        |end| {
            number += 1;
            Shape { end, linked: number % 2 == 0, usages: number % 3, steps: number % 4 < 2 }
        },
    ))
}

fn sorted(mut violations: Vec<Violation>) -> Vec<Violation> {
    violations.sort();
    violations
}

/// Another order, in which events come one after the other as before, and so do objects of one name.
pub(crate) fn reordered(objects: &[Object], keys: &[u64]) -> Vec<Object> {
    let key = |place: usize| keys.get(place % keys.len().max(1)).copied().unwrap_or_default();
    let mut places: Vec<usize> = (0..objects.len()).collect();
    places.sort_by_key(|&place| (key(place).wrapping_mul(place as u64 + 1), place));
    let keeps_its_turn = |place: &usize| {
        use ObjectKind::{Evidence, IntentEvent, RunEvent, Selection, StepEvent, TaskEvent};
        let kind = objects[*place].kind();
        matches!(kind, IntentEvent | TaskEvent | RunEvent | StepEvent | Selection | Evidence)
    };
    let mut in_turn: Vec<usize> = places.iter().copied().filter(keeps_its_turn).collect();
    in_turn.sort_unstable();
    let mut in_turn = in_turn.into_iter();
    let place = |place: usize| {
        let taken = if keeps_its_turn(&place) { in_turn.next() } else { None };
        objects[taken.unwrap_or(place)].clone()
    };
    places.into_iter().map(place).collect()
}

/// Every UUID in a text, with the keys that lead to it: `verdict.of`.
fn names_in(value: &Value, key: &str, found: &mut Vec<(String, Uuid)>) {
    match value {
        Value::Object(entries) => {
            for (inner, value) in entries {
                let key = if key.is_empty() { inner.clone() } else { format!("{key}.{inner}") };
                names_in(value, &key, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names_in(item, key, found)),
        Value::String(text) => found.extend(Uuid::parse_str(text).map(|uuid| (key.to_owned(), uuid))),
        _ => {}
    }
}

#[test]
fn every_fault_has_a_place_and_tells_exactly_what_it_is() {
    for (about, fault) in FAULTS {
        let mut told = 0;
        for last in [End::Open, End::Retry] {
            let mut world = rich(last);
            if let Some(expected) = fault(&mut world) {
                let family: Family = world.objects.into_iter().collect();
                assert_eq!(family.violations(), sorted(expected), "{about}");
                told += 1;
            }
        }
        assert!(told > 0, "no place for: {about}");
    }
}

proptest! {
    #![proptest_config(one_in(3))]

    #[test]
    fn every_name_in_an_object_is_looked_for(object in any_object()) {
        let mut named = Vec::new();
        names_in(&serde_json::from_str(&object.print()).expect("it is JSON"), "", &mut named);
        // Its own name is here, and steps are told of with their plans.
        named.retain(|(key, _)| !["id", "step", "steps.id", "origin_step"].contains(&key.as_str()));
        // Told by the list that it stands in, beside which its reason stands.
        named.iter_mut().filter(|(key, _)| key == "considered.patch_set").for_each(|(key, _)| key.truncate(10));
        named.sort();
        let mut missing = Vec::new();
        for violation in [object].into_iter().collect::<Family>().violations() {
            match violation.rule {
                Rule::Dangling { field, to } => missing.push((field.to_owned(), to.id)),
                // That the plan is missing says enough.
                Rule::UnknownStep { plan: Some(_), .. } => prop_assert!(false, "{violation}"),
                _ => {}
            }
        }
        missing.sort();
        prop_assert_eq!(missing, named);
    }

    #[test]
    fn what_fits_has_no_violations(world in any_world()) {
        let family: Family = world.objects.into_iter().collect();
        prop_assert_eq!(family.violations(), Vec::new());
    }

    #[test]
    fn one_fault_is_told_and_nothing_else(mut world in any_world(), fault in prop::sample::select(FAULTS)) {
        if let Some(expected) = fault.1(&mut world) {
            let family: Family = world.objects.into_iter().collect();
            prop_assert_eq!(family.violations(), sorted(expected), "{}", fault.0);
        }
    }

    #[test]
    fn two_faults_are_both_told(
        mut world in any_world(),
        one in prop::sample::select(&[1_usize, 2, 10][..]),
        other in prop::sample::select(&[14_usize, 24, 25][..]),
    ) {
        let faults = [FAULTS[one].1(&mut world), FAULTS[other].1(&mut world)];
        let expected = faults.into_iter().flatten().flatten().collect();
        let family: Family = world.objects.into_iter().collect();
        prop_assert_eq!(family.violations(), sorted(expected));
    }

    #[test]
    fn the_order_of_adding_matters_to_events_only(
        mut world in any_world(),
        fault in prop::sample::select(FAULTS),
        keys in prop::collection::vec(any::<u64>(), 1..60),
    ) {
        let _ = fault.1(&mut world);
        let other: Family = reordered(&world.objects, &keys).into_iter().collect();
        let family: Family = world.objects.into_iter().collect();
        prop_assert_eq!(family.violations(), other.violations(), "{}", fault.0);
    }

    #[test]
    fn adding_again_changes_nothing(mut world in any_world(), fault in prop::sample::select(FAULTS)) {
        let _ = fault.1(&mut world);
        let family: Family = world.objects.iter().cloned().collect();
        let mut again = family.clone();
        for object in world.objects {
            prop_assert_eq!(again.add(object), Added::Known);
        }
        prop_assert_eq!(again, family);
    }

    #[test]
    fn an_excerpt_misses_names_and_nothing_else_but_what_it_has(
        world in any_world(),
        keep in prop::collection::vec(any::<bool>(), 40),
    ) {
        // Snapshots, patch sets and frames are only named; without them there is nothing else to say.
        let kept = |(place, object): &(usize, Object)| {
            use ObjectKind::{ContextFrame, ContextSnapshot, Intent, PatchSet};
            let named_only = matches!(object.kind(), ContextFrame | ContextSnapshot | Intent | PatchSet);
            !named_only || keep[place % keep.len()]
        };
        let objects = world.objects.into_iter().enumerate().filter(kept).map(|(_, object)| object);
        let family: Family = objects.collect();
        prop_assert!(family.violations().iter().all(Violation::is_dangling), "{:?}", family.violations());
    }
}
