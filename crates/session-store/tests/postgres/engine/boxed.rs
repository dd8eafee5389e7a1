//! A hard engine with a table behind it, for the tests of the proxy.

use expect_test::Expect;
use trunkline_session_store::kit::engine::{Chances, HardEngine, Profile};

use super::super::{Schema, runtime, server};
use super::raw::Raw;

/// An engine, and a schema with a table `t` in it.
pub(super) struct Boxed {
    pub(super) engine: HardEngine,
    pub(super) schema: Schema,
}

impl Boxed {
    pub(super) fn new(profile: Profile) -> Option<Self> {
        let url = server()?;
        let schema = Schema::new(&url);
        runtime().block_on(schema.plant("CREATE TABLE @t (a int, b text)"));
        let engine = HardEngine::start(&url, profile, 1).expect("it starts");
        Some(Boxed { engine, schema })
    }

    pub(super) fn raw(&self) -> Raw {
        Raw::connect(&self.engine)
    }

    pub(super) fn sql(&self, script: &str) -> String {
        script.replace('@', &format!("{}.", self.schema.name))
    }

    /// Says it as a new client.
    pub(super) fn check(&self, script: &str, expected: &Expect) {
        expected.assert_eq(&self.raw().say(&self.sql(script)));
    }

    pub(super) fn rows(&self) -> String {
        // Not through the engine, which has a say in everything else.
        let count = self.schema.count("SELECT count(*) AS n FROM @t");
        runtime().block_on(count).to_string()
    }
}

/// A profile that is plain but for this.
pub(super) fn with(change: impl FnOnce(&mut Profile)) -> Profile {
    let mut profile = Profile::plain();
    change(&mut profile);
    profile
}

/// The same profile, of which nothing goes wrong at random.
pub(super) fn steady(mut profile: Profile) -> Profile {
    profile.chances = Chances::default();
    profile
}

pub(super) fn swapping() -> Profile {
    with(|profile| profile.swaps = true)
}

pub(super) fn chances(change: impl FnOnce(&mut Chances)) -> Profile {
    with(|profile| change(&mut profile.chances))
}
