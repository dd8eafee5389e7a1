//! The kit: what it says of the stores here, and that each of its checks can fail.

mod claims;
mod flawed;
mod flaws;
mod journal;
mod killed;
mod least;
mod mutants;
mod steps;

use trunkline_session_store::kit::{self, Handle, Options, Place, Promise, Subject};
use trunkline_session_store::{Durability, MemoryStore, SessionStore, StoreError};

/// A store in memory. What is made for each place lays something over it whenever that is opened.
pub(crate) struct Memory<F>(pub(crate) F);

impl<S, F, G> Subject for Memory<F>
where
    S: SessionStore + 'static,
    F: Fn() -> G + Send + Sync,
    G: Fn(MemoryStore) -> S + Send + Sync + 'static,
{
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        Ok(Box::new(Sessions(MemoryStore::new(), (self.0)())))
    }

    fn reaches(&self) -> Durability {
        Durability::Buffered
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }
}

struct Sessions<F>(MemoryStore, F);

#[async_trait::async_trait]
impl<S: SessionStore + 'static, F: Fn(MemoryStore) -> S + Send + Sync> Place for Sessions<F> {
    async fn open(&self) -> Result<Handle, StoreError> {
        Ok(Handle::new((self.1)(self.0.clone())))
    }
}

/// What the environment asks for, so that others can run it again with other numbers.
pub(crate) fn options() -> Options {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let mut options = Options::new(number("TRUNKLINE_KIT_SEED").map_or(1, u64::from));
    options.cases = number("TRUNKLINE_KIT_CASES").unwrap_or(options.cases);
    options.kills = number("TRUNKLINE_KIT_KILLS").unwrap_or(options.kills);
    options
}

#[test]
fn memory_keeps_every_promise_that_can_be_tried_without_a_disk() {
    let report = kit::run(&Memory(|| |store| store), &options());
    assert!(report.is_ok(), "{report}");
    let unchecked: Vec<Promise> = report.unchecked().collect();
    assert_eq!(unchecked, [Promise::Killed, Promise::Full, Promise::Broken, Promise::Older], "{report}");
}

#[test]
fn the_same_seed_tries_the_same() {
    let options = Options::new(7);
    let [one, two] = [(); 2].map(|()| kit::run(&Memory(|| |store| store), &options).figures().operations);
    assert_eq!(one, two);
}
