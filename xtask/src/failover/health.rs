//! Asks Patroni how its cluster is.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A node that does not answer by then is counted as one that does not answer.
const ANSWER: Duration = Duration::from_secs(2);

/// One node, as Patroni tells of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) role: String,
    pub(super) state: String,
    pub(super) timeline: String,
}

/// Asks one Patroni for all members; nothing if it does not answer.
pub(super) fn members(address: &str) -> Option<Vec<Member>> {
    let answer = ask(address, "GET", "/cluster", "")?;
    Some(read(&answer))
}

/// Sends a request to Patroni and returns the body of the answer.
pub(super) fn ask(address: &str, method: &str, page: &str, body: &str) -> Option<String> {
    let address: SocketAddr = address.parse().ok()?;
    let mut connection = TcpStream::connect_timeout(&address, ANSWER).ok()?;
    connection.set_read_timeout(Some(ANSWER)).ok()?;
    let length = body.len();
    write!(
        connection,
        "{method} {page} HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .ok()?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
}

/// Returns the leader, if all nodes run, follow it, and one of them is synchronous where that is wanted.
pub(super) fn whole(members: &[Member], nodes: usize, synchronous: bool) -> Option<&str> {
    let leader = members.iter().find(|member| member.role == "leader")?;
    let runs = |member: &Member| matches!(member.state.as_str(), "running" | "streaming");
    let sound = members.iter().filter(|member| runs(member) && member.timeline == leader.timeline).count();
    let has_standby = !synchronous || members.iter().any(|member| member.role == "sync_standby");
    (members.len() == nodes && sound == nodes && has_standby).then_some(leader.name.as_str())
}

/// Reads the members out of Patroni's answer, whose objects have no objects in them but tags.
fn read(answer: &str) -> Vec<Member> {
    let members = answer.split("{\"name\": ").skip(1);
    members
        .map(|text| {
            let text = format!("\"name\": {text}");
            let field = |name| field(&text, name).unwrap_or_default();
            Member {
                name: field("name"),
                role: field("role"),
                state: field("state"),
                timeline: field("timeline"),
            }
        })
        .collect()
}

fn field(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"{name}\": "))?;
    let end = rest.find([',', '}'])?;
    Some(rest[..end].trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: &str = r#"{"members": [{"name": "n1", "role": "leader", "state": "running", "api_url": "http://127.0.0.1:1/patroni", "host": "127.0.0.1", "port": 2, "timeline": 4}, {"name": "n2", "role": "sync_standby", "state": "running", "api_url": "x", "host": "127.0.0.1", "port": 3, "timeline": 4, "lag": 0}, {"name": "n3", "role": "replica", "state": "starting", "host": "127.0.0.1"}]}"#;

    #[test]
    fn members_are_read() {
        let members = read(ANSWERED);
        let told: Vec<String> = members
            .iter()
            .map(|member| format!("{} {} {} {}", member.name, member.role, member.state, member.timeline))
            .collect();
        assert_eq!(told, ["n1 leader running 4", "n2 sync_standby running 4", "n3 replica starting "]);
    }

    #[test]
    fn a_cluster_is_whole_when_all_follow() {
        let mut members = read(ANSWERED);
        assert_eq!(whole(&members, 3, true), None);
        members[2].state = "running".to_owned();
        members[2].timeline = "4".to_owned();
        assert_eq!(whole(&members, 3, true), Some("n1"));
        members[1].role = "replica".to_owned();
        assert_eq!(whole(&members, 3, true), None);
        assert_eq!(whole(&members, 3, false), Some("n1"));
        members[2].timeline = "3".to_owned();
        assert_eq!(whole(&members, 3, false), None);
        assert_eq!(whole(&[], 0, false), None);
    }
}
