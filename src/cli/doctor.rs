//! `rankcast doctor`: checks the surroundings. For now: what so many viewers need.

pub mod plan;

use clap::Args;

use self::plan::{Audience, Machine, Plan};
use super::Outcome;

/// Options of `rankcast doctor`.
#[derive(Clone, Debug, Args)]
pub struct Doctor {
    /// How many viewers there will be
    #[arg(long, value_name = "N")]
    pub viewers: u64,
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
    /// Computes, and says what came out.
    pub fn run(&self) -> anyhow::Result<Outcome> {
        let audience = Audience {
            viewers: self.viewers,
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
        Ok(Outcome::Good)
    }
}
