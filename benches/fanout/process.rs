//! Servers as processes: on which core they run, what they cost, and that they end.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use rustix::{
    process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

use super::watch::PATIENCE;

/// How long a server may take to end when asked to.
const LEAVE: Duration = Duration::from_secs(3);

/// Which core does what; without a choice where there is only one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    /// The measured server's core, and that of everything else.
    pub(crate) pair: Option<(usize, usize)>,
}

impl Cores {
    /// Takes the first two cores that we may use, and moves to the second.
    pub(crate) fn take() -> anyhow::Result<Self> {
        let allowed = sched_getaffinity(None)?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let pair = cores.next().zip(cores.next());
        if let Some((_, ours)) = pair {
            pin(ours)?;
        }
        Ok(Self { pair })
    }

    /// Starts a process on the measured core.
    pub(crate) fn measured(self, command: &mut Command) -> anyhow::Result<Process> {
        // A child runs where its parent may.
        let Some((theirs, ours)) = self.pair else {
            return Process::spawn(command);
        };
        pin(theirs)?;
        let process = Process::spawn(command);
        pin(ours)?;
        process
    }
}

fn pin(core: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).context("cannot choose a core")
}

/// Lets this process and its children have as many sockets as they may.
pub(crate) fn raise_files() -> anyhow::Result<u64> {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: most,
            maximum: most,
        },
    )?;
    Ok(most.unwrap_or(u64::MAX))
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts a process on our own core.
    pub(crate) fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("{name} does not start"))?;
        Ok(Self(child))
    }

    /// Waits until it takes connections.
    pub(crate) fn ready(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        while std::net::TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            if let Some(status) = self.0.try_wait()? {
                bail!("it ended at its start: {status}");
            }
            if Instant::now() > until {
                bail!("nothing listens on {address}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// CPU time so far, by thread.
    pub(crate) fn cpu(&self) -> Cpu {
        let mut threads = BTreeMap::new();
        for process in family(self.0.id()) {
            let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
                continue;
            };
            for task in tasks.flatten() {
                let Ok(stat) = fs::read_to_string(task.path().join("schedstat")) else {
                    continue;
                };
                let mut times = stat.split(' ').map(|ns| ns.parse().unwrap_or(0));
                let (spent, waited) = (times.next().unwrap_or(0), times.next().unwrap_or(0));
                threads.insert(task.file_name(), (spent, waited));
            }
        }
        Cpu(threads)
    }

    /// Memory that is resident, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        family(self.0.id()).into_iter().map(resident).sum()
    }
}

/// What each thread has spent, and how long it was kept waiting for its core, in ns.
#[derive(Debug)]
pub(crate) struct Cpu(BTreeMap<std::ffi::OsString, (u64, u64)>);

impl Cpu {
    /// What was spent since, in ns. Threads that ended between are not counted.
    pub(crate) fn since(&self, before: &Self) -> u64 {
        self.sum(before, |(spent, _)| spent)
    }

    /// How long it waited since for others to leave its core, in ns.
    pub(crate) fn waited_since(&self, before: &Self) -> u64 {
        self.sum(before, |(_, waited)| waited)
    }

    fn sum(&self, before: &Self, of: fn((u64, u64)) -> u64) -> u64 {
        self.0
            .iter()
            .map(|(thread, now)| {
                let before = before.0.get(thread).copied().unwrap_or_default();
                of(*now).saturating_sub(of(before))
            })
            .sum()
    }
}

fn resident(process: u32) -> u64 {
    fs::read_to_string(format!("/proc/{process}/status"))
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .unwrap_or(0)
        * 1024
}

/// A process and its children.
fn family(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    let Ok(entries) = fs::read_dir("/proc") else {
        return all;
    };
    for entry in entries.flatten() {
        let id = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let (Some(id), Ok(stat)) = (id, fs::read_to_string(entry.path().join("stat"))) else {
            continue;
        };
        // After the name, which may hold anything, in parentheses: the state, the parent.
        let parent = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        if parent == Some(process) {
            all.push(id);
        }
    }
    all
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(id) = Pid::from_raw(self.0.id() as i32) {
            let _ = kill_process(id, Signal::TERM);
        }
        let until = Instant::now() + LEAVE;
        while Instant::now() < until {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
