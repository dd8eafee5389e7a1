//! A git that dies at a chosen call, and stays dead.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use trunkline_git_binding::{Git, GitCommand, GitFault, Repository};

use crate::given::Scratch;

/// What becomes of the call at which it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    /// It is not made.
    Before,
    /// It is made, and nobody hears of it.
    After,
    /// Of a transaction over refs only the move happens, as after a kill where refs are files; other calls are not made.
    OnlyUpdate,
}

pub(crate) const DEATHS: [Death; 3] = [Death::Before, Death::After, Death::OnlyUpdate];

pub(crate) struct Faulty {
    git: GitCommand,
    calls: AtomicUsize,
    dies_at: AtomicUsize,
    death: Death,
    /// What somebody else does right before a transaction over refs.
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Faulty {
    /// A repository whose git dies at its `dies_at`-th call after this, counted from 0.
    pub(crate) fn open(
        scratch: &Scratch,
        dies_at: usize,
        death: Death,
    ) -> (Repository, std::sync::Arc<Self>) {
        let git = GitCommand::discover(scratch.root()).expect("git works").expect("a repository");
        let never = AtomicUsize::new(usize::MAX);
        let faulty = std::sync::Arc::new(Self {
            git,
            calls: AtomicUsize::new(0),
            dies_at: never,
            death,
            meanwhile: Mutex::new(None),
        });
        let repository = Repository::over(std::sync::Arc::clone(&faulty)).expect("it is alive still");
        faulty.calls.store(0, Ordering::SeqCst);
        faulty.dies_at.store(dies_at, Ordering::SeqCst);
        (repository, faulty)
    }

    pub(crate) fn before_update(&self, meanwhile: impl FnOnce() + Send + 'static) {
        *self.meanwhile.lock().expect("no test panics here") = Some(Box::new(meanwhile));
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Git for Faulty {
    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        if arguments.first() == Some(&"update-ref") {
            let meanwhile = self.meanwhile.lock().expect("no test panics here").take();
            meanwhile.into_iter().for_each(|meanwhile| meanwhile());
        }
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let dies_at = self.dies_at.load(Ordering::SeqCst);
        if call < dies_at {
            return self.git.run(arguments, input);
        }
        let without = |word: &str| -> Vec<u8> {
            let text = String::from_utf8_lossy(input);
            let kept = text.lines().filter(|line| !line.starts_with(word)).map(|line| format!("{line}\n"));
            kept.collect::<String>().into_bytes()
        };
        let transaction = arguments.first() == Some(&"update-ref");
        if call == dies_at {
            let _ = match self.death {
                Death::After => self.git.run(arguments, input),
                Death::OnlyUpdate if transaction => self.git.run(arguments, &without("create")),
                _ => Ok(Vec::new()),
            };
        }
        let source = std::io::Error::other("the git of this test is dead");
        Err(GitFault::Io { command: "test".into(), source })
    }
}
