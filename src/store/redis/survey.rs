//! A look around at the start.

use redis::InfoDict;

use super::link::Link;
use crate::store::StoreError;

/// The oldest Redis with everything that the scripts use.
const OLDEST: (u32, u32) = (6, 2);

/// Looks around at the start: refuses what cannot work, and says plainly what may lose data.
pub(super) async fn survey(link: &Link, address: &str) -> Result<(), StoreError> {
    let info: InfoDict = link.tell(&redis::cmd("INFO")).await?;
    let version: String = info.get("redis_version").unwrap_or_default();
    let mut numbers = version
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST {
        let (major, minor) = OLDEST;
        return Err(StoreError::Refused(format!(
            "{address} is {version}; {major}.{minor} or newer is needed"
        )));
    }
    let policy: String = info.get("maxmemory_policy").unwrap_or_default();
    if policy != "noeviction" {
        tracing::warn!(
            store = address,
            policy,
            "Redis may evict contests when memory is short; set maxmemory-policy noeviction"
        );
    }
    if info.get::<u8>("aof_enabled") != Some(1) {
        tracing::warn!(
            store = address,
            "Redis keeps no append-only file: a restart loses events; set appendonly yes"
        );
    }
    if info.get::<u8>("cluster_enabled") == Some(1) {
        tracing::warn!(
            store = address,
            "a Redis Cluster answers: contests on other nodes will be refused"
        );
    }
    Ok(())
}
