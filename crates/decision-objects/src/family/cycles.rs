//! Circles among parents, dependencies, predecessors and rollbacks.
//!
//! Strongly connected components after Tarjan, with a stack of its own: a chain of parents from a hostile file may be as
//! long as the file, and the thread's stack is not.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Family, Relation, Rule, Violation};
use crate::{Object, ObjectKind, ObjectName, Verdict};

impl Family {
    /// One violation for each circle, under the least of its members.
    pub(super) fn cycles(&self, found: &mut Vec<Violation>) {
        let graphs = [
            (Relation::IntentParents, ObjectKind::Intent),
            (Relation::PlanParents, ObjectKind::Plan),
            (Relation::TaskParents, ObjectKind::Task),
            (Relation::TaskDependencies, ObjectKind::Task),
            (Relation::RunPredecessors, ObjectKind::Run),
            (Relation::Rollbacks, ObjectKind::Decision),
        ];
        for (relation, kind) in graphs {
            let edges: Vec<(Uuid, Vec<Uuid>)> = self
                .iter()
                .map(|object| (object.name().id, ancestors(object, relation)))
                .filter(|(_, ancestors)| !ancestors.is_empty())
                .collect();
            for members in circles(&edges) {
                if let Some(&least) = members.first() {
                    let object = ObjectName { kind, id: least };
                    found.push(Violation { object, rule: Rule::Cycle { relation, members } });
                }
            }
        }
    }
}

/// What an object names by one relation; nothing, if the relation is between objects of another kind.
fn ancestors(object: &Object, relation: Relation) -> Vec<Uuid> {
    match (relation, object) {
        (Relation::IntentParents, Object::Intent(intent)) => {
            intent.content().parents.iter().map(|parent| parent.uuid()).collect()
        }
        (Relation::PlanParents, Object::Plan(plan)) => {
            plan.content().parents.iter().map(|parent| parent.uuid()).collect()
        }
        (Relation::TaskParents, Object::Task(task)) => {
            task.content().parent.map(|parent| parent.uuid()).into_iter().collect()
        }
        (Relation::TaskDependencies, Object::Task(task)) => {
            task.content().dependencies.iter().map(|dependency| dependency.uuid()).collect()
        }
        (Relation::RunPredecessors, Object::Run(run)) => {
            run.opening().predecessor.map(|predecessor| predecessor.run().uuid()).into_iter().collect()
        }
        (Relation::Rollbacks, Object::Decision(decision)) => match decision.verdict() {
            Verdict::Rollback { of, .. } => vec![of.uuid()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// A node on the way from the start to where the search stands.
struct Step {
    node: usize,
    /// How many of its edges were looked at.
    looked: usize,
}

/// The circles, each in the order of its members' names.
///
/// What is named and has no edges of its own is in no circle, and is left out.
fn circles(edges: &[(Uuid, Vec<Uuid>)]) -> Vec<Vec<Uuid>> {
    const UNSEEN: usize = usize::MAX;
    let names: Vec<Uuid> = edges.iter().map(|(name, _)| *name).collect();
    let places: HashMap<Uuid, usize> = names.iter().copied().zip(0..).collect();
    let known =
        |targets: &Vec<Uuid>| targets.iter().filter_map(|target| places.get(target).copied()).collect();
    let targets: Vec<Vec<usize>> = edges.iter().map(|(_, targets)| known(targets)).collect();
    let mut circles = Vec::new();
    let mut seen = 0;
    // When each node was first seen, and the earliest node of its component that is known to be reachable from it.
    let mut order = vec![UNSEEN; names.len()];
    let mut earliest = vec![UNSEEN; names.len()];
    let mut waits = vec![false; names.len()];
    let mut waiting: Vec<usize> = Vec::new();
    let mut way: Vec<Step> = Vec::new();
    for start in 0..names.len() {
        if order[start] == UNSEEN {
            way.push(Step { node: start, looked: 0 });
        }
        while let Some(Step { node, looked }) = way.pop() {
            if looked == 0 {
                (order[node], earliest[node]) = (seen, seen);
                seen += 1;
                waiting.push(node);
                waits[node] = true;
            } else {
                // Back from the edge before this one.
                let below = targets[node][looked - 1];
                if waits[below] {
                    earliest[node] = earliest[node].min(earliest[below]);
                }
            }
            if let Some(&next) = targets[node].get(looked) {
                way.push(Step { node, looked: looked + 1 });
                if order[next] == UNSEEN {
                    way.push(Step { node: next, looked: 0 });
                }
                continue;
            }
            if earliest[node] == order[node] {
                let from = waiting.iter().rposition(|&other| other == node).unwrap_or_default();
                let members = waiting.split_off(from);
                for &member in &members {
                    waits[member] = false;
                }
                if members.len() > 1 || targets[node].contains(&node) {
                    let mut members: Vec<Uuid> = members.into_iter().map(|member| names[member]).collect();
                    members.sort_unstable();
                    circles.push(members);
                }
            }
        }
    }
    circles
}
