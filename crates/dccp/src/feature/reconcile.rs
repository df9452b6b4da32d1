//! The server-priority rule (RFC 4340 §6.3.1).

use super::Role;

/// The server's first entry that the client also lists, or `None` if they share none.
pub(crate) fn server_priority(role: Role, ours: &[u8], theirs: &[u8]) -> Option<u8> {
    let (server, client) = match role {
        Role::Server => (ours, theirs),
        Role::Client => (theirs, ours),
    };
    server.iter().copied().find(|value| client.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_chooses_among_what_both_list() {
        // RFC 4340 §6.5: client 2 3 1, server 3 2 1.
        assert_eq!(server_priority(Role::Server, &[3, 2, 1], &[2, 3, 1]), Some(3));
        assert_eq!(server_priority(Role::Client, &[2, 3, 1], &[3, 2, 1]), Some(3));
        assert_eq!(server_priority(Role::Client, &[2], &[3]), None);
    }
}
