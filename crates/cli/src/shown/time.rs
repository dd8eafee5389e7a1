//! How long ago, and how much longer.

use trunkline_message_tree::Timestamp;

/// Tells how long ago something was.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(at.0) / 1000;
    match seconds {
        0..10 => "just now".to_owned(),
        10..100 => format!("{seconds} s ago"),
        100..6_000 => format!("{} min ago", seconds / 60),
        6_000..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Tells when the time for a decision ends.
pub(crate) fn expiry(end: Timestamp, now: Timestamp) -> String {
    let Some(left) = end.0.checked_sub(now.0).filter(|left| *left > 0) else {
        return "its time has passed".to_owned();
    };
    match left / 1000 {
        seconds @ 0..100 => format!("expires in {seconds} s"),
        seconds @ 100..6_000 => format!("expires in {} min", seconds / 60),
        seconds @ 6_000..172_800 => format!("expires in {} h", seconds / 3600),
        seconds => format!("expires in {} days", seconds / 86_400),
    }
}
