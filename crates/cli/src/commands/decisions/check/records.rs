//! The records of a file: a line each, or one over many lines. Read line by line, and twice, since what does not fit
//! between two of them is known when all were read, and told where each stands.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::de::IgnoredAny;
use uuid::Uuid;

use crate::term::fault::Fault;
use crate::term::text::one_line;

/// What one record may have at most, and so what is held of a file at a time.
const LONGEST: u64 = 64 * 1024 * 1024;
/// What is laid aside at most: stdin may never end.
const MOST_LAID_ASIDE: u64 = 256 * 1024 * 1024;
/// What some editors begin a file with.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A file of records, to be gone through as often as needed.
pub(in crate::commands::decisions) struct Records {
    file: File,
    shown: String,
    /// Whether all of it is one value.
    is_one: bool,
}

/// One of them, or what it looks like and why it is none.
pub(in crate::commands::decisions) type Found<'a> = Result<&'a str, (String, String)>;

impl Records {
    /// Opens a file, or `-` for stdin.
    pub(in crate::commands::decisions) fn open(path: &Path) -> Result<Self, Fault> {
        let shown = one_line(&path.display().to_string(), 120);
        let cannot = |error: io::Error| {
            Fault::new(format!("cannot read {shown}: {error}"))
                .hint("name a file of records, `-` for stdin, or none to check the session")
        };
        let file = match path == Path::new("-") {
            true => laid_aside(io::stdin().lock()).map_err(cannot)?,
            false => {
                let file = File::open(path).map_err(cannot)?;
                match file.metadata().map_err(cannot)?.is_file() {
                    true => file,
                    false => laid_aside(file).map_err(cannot)?,
                }
            }
        };
        let mut records = Records { file, shown: shown.clone(), is_one: false };
        let start = records.start().map_err(cannot)?;
        let mut values = serde_json::Deserializer::from_reader(start.take(LONGEST));
        // Ends at the first fault, which in a file of lines is at the beginning of the second one.
        let one = serde::Deserialize::deserialize(&mut values).map(|_: IgnoredAny| ());
        records.is_one = one.is_ok() && values.end().is_ok();
        Ok(records)
    }

    /// Takes one after the other, each with the number of its line.
    pub(in crate::commands::decisions) fn each(
        &mut self,
        mut take: impl FnMut(u64, Found<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let shown = self.shown.clone();
        let cannot = |error: io::Error| Fault::new(format!("cannot read {shown}: {error}"));
        let is_one = self.is_one;
        let mut source = self.start().map_err(cannot)?;
        let mut bytes = Vec::new();
        let mut number = 0;
        loop {
            bytes.clear();
            let mut piece = (&mut source).take(LONGEST + 1);
            let length = match is_one {
                true => piece.read_to_end(&mut bytes),
                false => piece.read_until(b'\n', &mut bytes),
            };
            if length.map_err(cannot)? == 0 {
                return Ok(());
            }
            number += 1;
            if bytes.len() as u64 > LONGEST && bytes.last() != Some(&b'\n') {
                pass_over_line(&mut source).map_err(cannot)?;
                let why = format!("it has more than {} MiB, which no record has", LONGEST / 1024 / 1024);
                take(number, Err((String::new(), why)))?;
                continue;
            }
            match std::str::from_utf8(&bytes) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) if is_one => take(number, Ok(text.trim()))?,
                Ok(text) => take(number, Ok(text.trim_end_matches(['\r', '\n'])))?,
                Err(error) => {
                    let text = String::from_utf8_lossy(&bytes);
                    let text = text.trim_end_matches(['\r', '\n']).to_owned();
                    take(number, Err((text, format!("it is not UTF-8: {error}"))))?;
                }
            }
        }
    }

    /// Goes to the beginning of what is to be read.
    fn start(&mut self) -> io::Result<BufReader<&File>> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut beginning = [0; BYTE_ORDER_MARK.len()];
        let marked = (&self.file).read_exact(&mut beginning).is_ok() && beginning == BYTE_ORDER_MARK;
        if !marked {
            self.file.seek(SeekFrom::Start(0))?;
        }
        Ok(BufReader::new(&self.file))
    }
}

fn pass_over_line(source: &mut impl BufRead) -> io::Result<()> {
    loop {
        let piece = source.fill_buf()?;
        let (length, ends) = match piece.iter().position(|byte| *byte == b'\n') {
            Some(place) => (place + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        source.consume(length);
        if ends {
            return Ok(());
        }
    }
}

/// Lays what can be read only once into a file without a name, which goes with the process.
fn laid_aside(source: impl Read) -> io::Result<File> {
    let path = std::env::temp_dir().join(format!(".trunkline-{}.tmp", Uuid::new_v4()));
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    if io::copy(&mut source.take(MOST_LAID_ASIDE + 1), &mut file)? > MOST_LAID_ASIDE {
        let most = MOST_LAID_ASIDE / 1024 / 1024;
        let why = format!(
            "it has more than {most} MiB, the most that is read of what is no plain file: save it as one"
        );
        return Err(io::Error::other(why));
    }
    Ok(file)
}
