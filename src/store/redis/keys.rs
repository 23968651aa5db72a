//! The names of keys and channels. One contest's keys share a slot: the braces are literal.

use crate::store::Digest;

/// What the channels of hints begin with.
pub(super) const CHANNEL: &str = "rankcast:";

/// The set of contests.
pub(super) const CONTESTS: &str = "rankcast:contests";

/// The digest of the admin key.
pub(super) const ADMIN_KEY: &str = "rankcast:admin-key";

/// Written by every check.
pub(super) const CHECK: &str = "rankcast:check";

pub(super) fn key(contest: &str, part: &str) -> String {
    format!("rankcast:{{{contest}}}:{part}")
}

pub(super) fn all_keys(contest: &str) -> [String; 6] {
    ["meta", "log", "newest", "tokens", "standings", "placed"].map(|part| key(contest, part))
}

pub(super) fn channel(contest: &str) -> String {
    format!("{CHANNEL}{contest}")
}

pub(super) fn ticket(secret: Digest) -> String {
    format!("rankcast:ticket:{secret}")
}
