//! Objects on their way into git, as one pack.
//!
//! A pack is git's own form for many objects at once, so one process writes them all. Names are computed here, since a
//! tree holds the names of what is in it; git computes them again, and a ref to a name that it does not find is refused.
//! Layout: gitformat-pack(5), git 2.47; what is compressed here are zlib's stored blocks (RFC 1950, 1951), for git writes
//! the objects anew.

use std::collections::BTreeMap;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use trunkline_decision_objects::GitOid;

use crate::ObjectFormat;

/// Numbers from gitformat-pack(5).
const TREE: u8 = 2;
const BLOB: u8 = 3;

/// Objects of one format, each once.
pub(crate) struct Pack {
    format: ObjectFormat,
    objects: BTreeMap<GitOid, (u8, Vec<u8>)>,
}

/// What a tree holds under a name.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    File(GitOid),
    Folder(GitOid),
}

impl Pack {
    pub(crate) const fn new(format: ObjectFormat) -> Self {
        Self { format, objects: BTreeMap::new() }
    }

    pub(crate) fn empty_tree(format: ObjectFormat) -> GitOid {
        hash(format, &[b"tree 0\0"])
    }

    pub(crate) fn file(&mut self, content: Vec<u8>) -> Entry {
        Entry::File(self.add(BLOB, "blob", content))
    }

    /// Adds a tree; no name may hold a `/` or NUL.
    pub(crate) fn folder(&mut self, entries: BTreeMap<String, Entry>) -> GitOid {
        let mut entries: Vec<(String, Entry)> = entries.into_iter().collect();
        // Git sorts a folder as if its name ended in a slash.
        entries.sort_by_key(|(name, entry)| match entry {
            Entry::File(_) => name.clone(),
            Entry::Folder(_) => format!("{name}/"),
        });
        let mut content = Vec::new();
        for (name, entry) in entries {
            let (mode, oid) = match entry {
                Entry::File(oid) => ("100644", oid),
                Entry::Folder(oid) => ("40000", oid),
            };
            content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            match oid {
                GitOid::Sha1(bytes) => content.extend_from_slice(&bytes),
                GitOid::Sha256(bytes) => content.extend_from_slice(&bytes),
            }
        }
        self.add(TREE, "tree", content)
    }

    fn add(&mut self, kind: u8, word: &str, content: Vec<u8>) -> GitOid {
        let oid = hash(self.format, &[format!("{word} {}\0", content.len()).as_bytes(), &content]);
        self.objects.insert(oid, (kind, content));
        oid
    }

    /// The bytes for `git unpack-objects`.
    pub(crate) fn print(&self) -> Vec<u8> {
        let count = u32::try_from(self.objects.len()).expect("a decision has not four billion parts");
        let mut pack = [b"PACK".as_slice(), &2_u32.to_be_bytes(), &count.to_be_bytes()].concat();
        for (kind, content) in self.objects.values() {
            print_head(*kind, content.len(), &mut pack);
            print_stored(content, &mut pack);
        }
        match hash(self.format, &[&pack]) {
            GitOid::Sha1(bytes) => pack.extend_from_slice(&bytes),
            GitOid::Sha256(bytes) => pack.extend_from_slice(&bytes),
        }
        pack
    }
}

fn hash(format: ObjectFormat, parts: &[&[u8]]) -> GitOid {
    match format {
        ObjectFormat::Sha1 => {
            let mut hash = Sha1::new();
            parts.iter().for_each(|part| hash.update(part));
            GitOid::Sha1(hash.finalize().into())
        }
        ObjectFormat::Sha256 => {
            let mut hash = Sha256::new();
            parts.iter().for_each(|part| hash.update(part));
            GitOid::Sha256(hash.finalize().into())
        }
    }
}

/// Type and size: four bits of the size beside the type, then seven a byte, the highest bit says that more follow.
fn print_head(kind: u8, size: usize, pack: &mut Vec<u8>) {
    let mut rest = size >> 4;
    let low = |value: usize, bits: u8| u8::try_from(value & ((1 << bits) - 1)).unwrap_or_default();
    let more = |rest: usize| if rest > 0 { 0x80 } else { 0 };
    pack.push(more(rest) | kind << 4 | low(size, 4));
    while rest > 0 {
        let byte = low(rest, 7);
        rest >>= 7;
        pack.push(more(rest) | byte);
    }
}

fn print_stored(content: &[u8], pack: &mut Vec<u8>) {
    const BLOCK: usize = 0xffff;
    pack.extend_from_slice(&[0x78, 0x01]);
    let mut blocks = content.chunks(BLOCK).peekable();
    if blocks.peek().is_none() {
        pack.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let size = u16::try_from(block.len()).unwrap_or(u16::MAX); // `chunks` gives no larger ones
        pack.push(u8::from(blocks.peek().is_none()));
        pack.extend_from_slice(&size.to_le_bytes());
        pack.extend_from_slice(&(!size).to_le_bytes());
        pack.extend_from_slice(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in content {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    pack.extend_from_slice(&(b << 16 | a).to_be_bytes());
}
