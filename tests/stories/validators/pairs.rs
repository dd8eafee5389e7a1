//! Calls that wait for their results, in the order in which a service reads them.

use super::{Verdict, ensure};

/// The calls of one turn that have no result yet.
#[derive(Default)]
pub(super) struct OpenCalls<'a>(Vec<Open<'a>>);

struct Open<'a> {
    id: &'a str,
    name: &'a str,
}

impl<'a> OpenCalls<'a> {
    /// Takes in a call.
    pub(super) fn call(&mut self, id: &'a str, name: &'a str) -> Verdict {
        ensure(self.0.iter().all(|open| open.id != id), || format!("two calls with the id {id}"))?;
        self.0.push(Open { id, name });
        Ok(())
    }

    /// Takes in a result.
    pub(super) fn result(&mut self, id: &str) -> Verdict {
        let position = self.0.iter().position(|open| open.id == id);
        let position = position.ok_or_else(|| format!("no open call for the result {id}"))?;
        self.0.remove(position);
        Ok(())
    }

    /// Takes in a result that the service gives to the oldest open call of that name.
    pub(super) fn result_in_order(&mut self, id: &str) -> Verdict {
        let name = self.0.iter().find(|open| open.id == id).map(|open| open.name);
        let oldest = self.0.iter().find(|open| Some(open.name) == name);
        ensure(oldest.is_none_or(|oldest| oldest.id == id), || format!("result {id} comes out of order"))?;
        self.result(id)
    }

    /// Says that no result can follow.
    pub(super) fn close(&self) -> Verdict {
        let ids: Vec<&str> = self.0.iter().map(|open| open.id).collect();
        ensure(ids.is_empty(), || format!("calls without results: {ids:?}"))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
