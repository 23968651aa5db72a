//! `rankcast doctor`: checks the surroundings: what so many viewers need, and whether a judge can be followed.

pub mod judge;
pub mod plan;

use anyhow::bail;
use clap::Args;

use self::{
    judge::Grade,
    plan::{Audience, Machine, Plan},
};
use super::{
    Outcome,
    judge::{Judge, JudgeOptions},
};

/// Options of `rankcast doctor`.
#[derive(Clone, Debug, Args)]
pub struct Doctor {
    /// Compute what so many viewers need
    #[arg(long, value_name = "N")]
    pub viewers: Option<u64>,
    /// Look at a judge that is to be followed: the URL of the contest in its CLICS API, …/api/contests/ID
    #[arg(long, value_name = "URL")]
    pub judge: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub access: JudgeOptions,
    /// How many changes of the board a second they are to see; no more than one a tick is sent
    #[arg(long, default_value_t = 20.0, value_name = "R")]
    pub rate: f64,
    /// How many boards they watch, all in all
    #[arg(long, default_value_t = Audience::default().boards, value_name = "N")]
    pub boards: u64,
    /// Bytes of JSON in a delta
    #[arg(long, default_value_t = Audience::default().frame_bytes, value_name = "BYTES")]
    pub frame_bytes: u64,
    /// Bytes of a compressed snapshot
    #[arg(long, default_value_t = Audience::default().snapshot_bytes, value_name = "BYTES")]
    pub snapshot_bytes: u64,
    /// Cores of one server
    #[arg(long, default_value_t = Machine::default().cores, value_name = "N")]
    pub cores: u64,
    /// Memory of one server that viewers may take, in GiB
    #[arg(long, default_value_t = Machine::default().memory_gib, value_name = "GIB")]
    pub memory: f64,
    /// What one server's network carries, in Gbit/s
    #[arg(long, default_value_t = Machine::default().network_gbit, value_name = "GBIT")]
    pub network: f64,
    /// Processor time of one delivery, in us: measure it with scripts/bench
    #[arg(long, default_value_t = Machine::default().delivery_us, value_name = "US")]
    pub delivery_us: f64,
    /// The most viewers of one server (its --max-viewers)
    #[arg(long, default_value_t = Machine::default().seats, value_name = "N")]
    pub max_viewers: u64,
    /// How much of all that is planned for; the rest is for peaks, and for the viewers of a server that is gone
    #[arg(long, default_value_t = Machine::default().load, value_name = "SHARE")]
    pub load: f64,
}

impl Doctor {
    /// Does what was asked, and says what came out.
    pub async fn run(&self) -> anyhow::Result<Outcome> {
        if self.viewers.is_none() && self.judge.is_none() {
            bail!("nothing was asked: give --viewers N, --judge URL, or both");
        }
        let mut outcome = Outcome::Good;
        if let Some(url) = &self.judge {
            let root = url
                .split_once("/contests/")
                .map_or(url.as_str(), |(root, _)| root);
            let (judge, root) = (
                Judge::new(url, &self.access)?,
                Judge::new(root, &self.access)?,
            );
            if judge::examine(url, &judge, &root).await? == Grade::Bad {
                outcome = Outcome::Bad;
            }
        }
        if let Some(viewers) = self.viewers {
            self.plan(viewers)?;
        }
        Ok(outcome)
    }

    fn plan(&self, viewers: u64) -> anyhow::Result<()> {
        let audience = Audience {
            viewers,
            rate: self.rate,
            boards: self.boards,
            frame_bytes: self.frame_bytes,
            snapshot_bytes: self.snapshot_bytes,
        };
        let machine = Machine {
            cores: self.cores,
            memory_gib: self.memory,
            network_gbit: self.network,
            delivery_us: self.delivery_us,
            load: self.load,
            seats: self.max_viewers,
            ..Machine::default()
        };
        print!(
            "{}",
            Plan::new(&audience, &machine).map_err(anyhow::Error::msg)?
        );
        Ok(())
    }
}
