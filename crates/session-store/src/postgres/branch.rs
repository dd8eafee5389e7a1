//! Which history a server is at the head of.
//!
//! A standby that takes over begins a timeline with a larger number. Its former primary may not know that yet, because it
//! slept or was cut off, and goes on as if nothing had been: what it acknowledges is lost when it finds out, and what it
//! reads is old. So a store that has met a timeline believes no server of a smaller one.

use tokio_postgres::Row;

/// The timeline of a server that takes writing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// The cluster: its servers are copies of each other, and no other cluster has that number.
    system: i64,
    timeline: i64,
}

impl Branch {
    /// What is asked of a server. Engines that are not PostgreSQL have no answer, and a standby none of its own.
    pub(super) const QUERY: &'static str = "SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN
            (SELECT system_identifier FROM pg_catalog.pg_control_system()) END AS system,
        CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN ('x' || pg_catalog.substr(pg_catalog.pg_walfile_name(
            pg_catalog.pg_current_wal_lsn()), 1, 8))::pg_catalog.bit(32)::pg_catalog.int8 END AS timeline";

    /// Reads the answer.
    pub(super) fn of(rows: &[Row]) -> Option<Self> {
        let row = rows.first()?;
        let number = |column| row.try_get::<_, Option<i64>>(column).ok().flatten();
        Some(Branch { system: number("system")?, timeline: number("timeline")? })
    }

    /// Whether the other one has taken over from it.
    pub(super) fn is_behind(self, other: Option<Self>) -> bool {
        other.is_some_and(|other| self.system == other.system && self.timeline < other.timeline)
    }

    /// Says why a server is not believed.
    pub(super) fn told(self, other: Option<Self>) -> String {
        let newer = other.map_or(self.timeline, |other| other.timeline);
        format!(
            "the server is on timeline {}, and another one has taken over with timeline {newer}: it is a primary no more, and \
             has to follow that one; it is believed again when that one is silent for a minute",
            self.timeline
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Branch;

    #[test]
    fn only_a_smaller_timeline_of_the_same_cluster_is_behind() {
        let [first, second] = [1, 2].map(|timeline| Branch { system: 7, timeline });
        let elsewhere = Branch { system: 8, timeline: 1 };
        assert!(first.is_behind(Some(second)));
        for (one, other) in
            [(second, Some(first)), (first, Some(first)), (elsewhere, Some(second)), (first, None)]
        {
            assert!(!one.is_behind(other), "{one:?} {other:?}");
        }
    }
}
