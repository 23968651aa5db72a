//! Where and when it was measured.

use std::fs;

use serde_json::{Map, Value, json};

use super::server::{Kind, Setup, version};

/// The machine, in words.
pub(crate) fn machine() -> Value {
    let cpu = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|info| {
            let line = info.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    json!({
        "cpu": cpu,
        "cores": online.trim(),
        "kernel": version("uname", &["-sr"]),
    })
}

/// What exactly was compared.
pub(crate) fn versions(setup: &Setup, kinds: &[Kind]) -> Value {
    let known: Map<String, Value> = kinds
        .iter()
        .filter_map(|kind| Some((kind.name().to_owned(), json!(kind.version(setup)?))))
        .collect();
    Value::Object(known)
}
