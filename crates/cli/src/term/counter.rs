//! Tells how far a long transfer has come, to whoever sits at a terminal.

use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use crate::term::limits::size;
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;

/// What is over sooner needs no telling.
const PATIENCE: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_millis(250);

/// Counts bytes and tells them now and then.
pub(crate) struct Counter {
    word: &'static str,
    whole: Option<u64>,
    bytes: u64,
    next: Option<Instant>,
    told: bool,
}

impl Counter {
    /// Begins to count bytes that are `word`, out of so many if that is known.
    pub(crate) fn new(word: &'static str, whole: Option<u64>) -> Self {
        let next = io::stderr().is_terminal().then(|| Instant::now() + PATIENCE);
        Counter { word, whole, bytes: 0, next, told: false }
    }

    fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            (self.next, self.told) = (Some(now + EVERY), true);
            let of = self.whole.map(|whole| format!(" of {}", size(whole))).unwrap_or_default();
            tell(&format!("\r{}", paint(DIM, &format!("{}{of} {}\u{1b}[K", size(self.bytes), self.word))));
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if self.told {
            tell("\r\u{1b}[K");
        }
    }
}

/// A reader or a writer whose bytes are counted.
pub(crate) struct Counted<T> {
    inner: T,
    counter: Counter,
}

impl<T> Counted<T> {
    pub(crate) fn new(inner: T, counter: Counter) -> Self {
        Counted { inner, counter }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.counter.add(read);
        Ok(read)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.counter.add(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
