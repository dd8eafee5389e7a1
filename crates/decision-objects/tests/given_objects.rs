//! Any object of the family.
//!
//! Boxed, because the values of so many strategies together are more than the stack of a test holds.

use proptest::prelude::*;
use trunkline_decision_objects::Object;

use crate::given::{any_decision, any_evidence, any_patch_set, any_run};
use crate::given_events::any_event;
use crate::given_snapshots::{any_intent, any_plan, any_provenance, any_snapshot, any_task};

pub(crate) fn any_object() -> impl Strategy<Value = Object> {
    prop_oneof![
        8 => any_event().boxed(),
        1 => any_intent().prop_map(Object::from).boxed(),
        1 => any_plan().prop_map(Object::from).boxed(),
        1 => any_task().prop_map(Object::from).boxed(),
        1 => any_snapshot().prop_map(Object::from).boxed(),
        1 => any_provenance().prop_map(Object::from).boxed(),
        1 => any_run().prop_map(Object::from).boxed(),
        1 => any_patch_set().prop_map(Object::from).boxed(),
        1 => any_evidence().prop_map(Object::from).boxed(),
        2 => any_decision().prop_map(Object::from).boxed(),
    ]
}
