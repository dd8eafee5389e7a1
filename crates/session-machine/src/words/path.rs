//! Names of files as the objects of a decision can hold them.

use trunkline_decision_objects::{Invalid, RelativePath};

/// Returns a path as a verdict can hold it; characters that it cannot hold are written `%` and their bytes in hex.
pub(crate) fn relative_path(path: &str) -> Result<RelativePath, Invalid> {
    let escaped = || -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        path.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    };
    RelativePath::new(path).or_else(|_| RelativePath::new(escaped()))
}
