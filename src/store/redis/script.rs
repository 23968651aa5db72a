//! The Lua scripts: files of their own beside this one, each with its keys and arguments described at its head.

use std::sync::LazyLock;

use redis::{Cmd, FromRedisValue, ServerErrorKind};

use super::{answers::failure, link::Link};
use crate::store::StoreError;

pub(super) static APPEND: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("append.lua")));
pub(super) static CREATE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("create.lua")));
pub(super) static DELETE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("delete.lua")));
pub(super) static PROJECT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("project.lua")));
pub(super) static READ: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("read.lua")));
pub(super) static RENEW: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("renew.lua")));

/// A script and the SHA-1 under which Redis caches it.
pub(super) struct Script {
    code: &'static str,
    hash: String,
}

impl Script {
    fn new(code: &'static str) -> Self {
        Self {
            code,
            hash: redis::Script::new(code).get_hash().to_owned(),
        }
    }

    /// Runs the script: by its hash, or with its text when the cache has lost it (a restart, a failover, `SCRIPT FLUSH`).
    /// The text goes to the node that holds the key: loading it everywhere fails exactly when a node is down.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        link: &Link,
        keys: &[String],
        args: &[&[u8]],
    ) -> Result<T, StoreError> {
        match link
            .ask(&command("EVALSHA", &self.hash, keys, args))
            .await?
        {
            Err(error) if error.kind() == ServerErrorKind::NoScript.into() => {
                link.ask(&command("EVAL", self.code, keys, args)).await?
            }
            answer => answer,
        }
        .map_err(|error| failure(&error))
    }
}

fn command(name: &str, script: &str, keys: &[String], args: &[&[u8]]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(keys.len()).arg(keys);
    for arg in args {
        command.arg(*arg);
    }
    command
}
