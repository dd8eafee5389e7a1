//! Where a test may step in: before each thing that a write does to the disk.
//!
//! Without the feature `steps` this is nothing, and no program that uses the crate has it.

use std::fmt;
#[cfg(feature = "steps")]
use std::io;

use rustix::io::Errno;

/// Is told what is about to be done and may make it fail, or end the process.
#[cfg(feature = "steps")]
pub(crate) type EachStep = dyn Fn(&str) -> io::Result<()> + Send + Sync;

/// The steps of the writes below one root.
#[derive(Default)]
pub(crate) struct Steps {
    #[cfg(feature = "steps")]
    each: Option<Box<EachStep>>,
}

impl Steps {
    #[cfg(feature = "steps")]
    pub(crate) fn told(each: Box<EachStep>) -> Self {
        Steps { each: Some(each) }
    }

    /// Called before something is done to the disk; an error is taken as that of the thing itself.
    #[cfg(feature = "steps")]
    pub(crate) fn step(&self, verb: &str, path: &str) -> Result<(), Errno> {
        let Some(each) = &self.each else { return Ok(()) };
        each(&format!("{verb} {path}")).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Called before something is done to the disk.
    #[cfg(not(feature = "steps"))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "with the feature it is told and may fail"
    )]
    pub(crate) fn step(&self, _verb: &str, _path: &str) -> Result<(), Errno> {
        Ok(())
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Steps")
    }
}
