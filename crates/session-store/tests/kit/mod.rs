//! The kit: what it says of the stores here, and that each of its checks can fail.

use trunkline_session_store::kit::{self, Handle, Options, Place, Promise, Subject};
use trunkline_session_store::{Durability, MemoryStore, SessionStore, StoreError};

/// A store in memory, with something laid over it.
struct Memory<F>(F);

impl<S: SessionStore + 'static, F: Fn(MemoryStore) -> S + Clone + Send + Sync + 'static> Subject
    for Memory<F>
{
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        Ok(Box::new(Sessions(MemoryStore::new(), self.0.clone())))
    }

    fn reaches(&self) -> Durability {
        Durability::Buffered
    }
}

struct Sessions<F>(MemoryStore, F);

#[async_trait::async_trait]
impl<S: SessionStore + 'static, F: Fn(MemoryStore) -> S + Send + Sync> Place for Sessions<F> {
    async fn open(&self) -> Result<Handle, StoreError> {
        Ok(Handle::new((self.1)(self.0.clone())))
    }
}

#[test]
fn memory_keeps_every_promise_that_can_be_tried_without_a_disk() {
    let report = kit::run(&Memory(|store| store), &Options::new(1));
    assert!(report.is_ok(), "{report}");
    let unchecked: Vec<Promise> = report.unchecked().collect();
    assert_eq!(unchecked, [Promise::Killed, Promise::Full, Promise::Broken, Promise::Older], "{report}");
}
