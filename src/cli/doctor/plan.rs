//! What an audience needs, computed from measured figures. The formulas are explained in `docs/capacity.md`.

use std::fmt;

use crate::{hub::TICK, web::Limits};

/// Bytes beside the JSON of a delta: the WebSocket header (4), TCP with time stamps (32), IP (20), Ethernet with preamble, gap
/// and checksum (38). A delta has a packet of its own.
pub const PACKET_OVERHEAD: u64 = 4 + 32 + 20 + 38;

/// What a node reads of its Redis beside the events, in bytes: the command and the answer's frame.
const READ_OVERHEAD: u64 = 150;

/// A hint on the channel of a board, in bytes, with its frame.
const HINT_BYTES: u64 = 150;

/// An event in the log, in bytes, as it is read: a judgement of the real contests that were measured.
const EVENT_BYTES: u64 = 250;

/// Who watches.
#[derive(Clone, Debug)]
pub struct Audience {
    /// How many.
    pub viewers: u64,
    /// Changes of a board a second.
    pub rate: f64,
    /// How many boards they watch, all in all; each node is assumed to serve all of them.
    pub boards: u64,
    /// JSON bytes of a delta.
    pub frame_bytes: u64,
    /// Bytes of a compressed snapshot.
    pub snapshot_bytes: u64,
}

impl Default for Audience {
    fn default() -> Self {
        Self {
            viewers: 0,
            rate: 0.0,
            boards: 1,
            // The top 100 of a regional contest of 352 teams, one event a frame: 134.8 on the average.
            frame_bytes: 135,
            // The top 100 of the same contest.
            snapshot_bytes: 5_000,
        }
    }
}

/// One server.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Cores for rankcast.
    pub cores: u64,
    /// Memory that viewers may take, in GiB: the process's part and the kernel's.
    pub memory_gib: f64,
    /// Network, in Gbit/s.
    pub network_gbit: f64,
    /// Processor time of one delivery, in us.
    pub delivery_us: f64,
    /// How much of all that is planned for, 0 to 1.
    pub load: f64,
    /// What the process takes for a viewer, in bytes.
    pub viewer_bytes: u64,
    /// What the kernel takes for a quiet connection, in bytes.
    pub kernel_bytes: u64,
    /// New viewers a second that one server lets in.
    pub joins: u64,
    /// The most viewers that one server may have.
    pub seats: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            cores: 8,
            memory_gib: 8.0,
            network_gbit: 10.0,
            delivery_us: 10.0,
            load: 0.5,
            viewer_bytes: 3_584,
            kernel_bytes: 4_096,
            joins: u64::from(Limits::default().joins),
            seats: Limits::default().viewers as u64,
        }
    }
}

/// What is needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Frames a second that each viewer gets: one a tick at the most.
    pub frames: f64,
    /// Deliveries a second, all in all.
    pub deliveries: f64,
    /// Cores kept busy by that.
    pub cores: f64,
    /// Memory for viewers, in GiB.
    pub memory_gib: f64,
    /// To the viewers, in Gbit/s.
    pub egress_gbit: f64,
    /// How many servers, and what decides it.
    pub servers: u64,
    /// `processor`, `network`, `memory` or `--max-viewers`.
    pub bound: &'static str,
    /// Viewers on each of them.
    pub viewers_a_server: u64,
    /// Reads from Redis a second: one a tick for each node and board at the most, and one batched poll.
    pub redis_reads: f64,
    /// Hints a second that Redis passes on.
    pub redis_hints: f64,
    /// From Redis to the nodes, in Mbit/s.
    pub redis_mbit: f64,
    /// How long it takes until everybody is let in again after all were cut off, in s.
    pub return_s: f64,
    /// What their snapshots take on the way during that, if none can resume, in Gbit/s.
    pub return_gbit: f64,
}

impl Plan {
    /// Computes it. An error says which figure makes no sense.
    pub fn new(audience: &Audience, machine: &Machine) -> Result<Self, String> {
        let positive = [
            ("--cores", machine.cores as f64),
            ("--memory", machine.memory_gib),
            ("--network", machine.network_gbit),
            ("--delivery-us", machine.delivery_us),
            ("--load", machine.load),
            ("--max-viewers", machine.seats as f64),
        ];
        for (name, value) in positive {
            if !value.is_finite() || value <= 0.0 {
                return Err(format!("{name}: expected a number above 0, got {value}"));
            }
        }
        if machine.load > 1.0 {
            return Err(format!("--load: expected at most 1, got {}", machine.load));
        }
        if !audience.rate.is_finite() || audience.rate < 0.0 {
            return Err(format!("--rate: expected 0 or more, got {}", audience.rate));
        }
        let viewers = audience.viewers as f64;
        let frames = audience.rate.min(1.0 / TICK.as_secs_f64());
        let deliveries = viewers * frames;
        let cores = deliveries * machine.delivery_us / 1e6;
        let a_viewer = (machine.viewer_bytes + machine.kernel_bytes) as f64;
        let memory_gib = viewers * a_viewer / f64::from(1 << 30);
        let packet = (audience.frame_bytes + PACKET_OVERHEAD) as f64;
        let egress_gbit = deliveries * packet * 8.0 / 1e9;
        let needs = [
            (viewers / machine.seats as f64, "--max-viewers"),
            (memory_gib / machine.memory_gib, "memory"),
            (egress_gbit / machine.network_gbit, "network"),
            (cores / machine.cores as f64, "processor"),
        ];
        let (most, bound) = needs
            .into_iter()
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .unwrap_or((0.0, "processor"));
        let servers = ((most / machine.load).ceil() as u64).max(1);
        let nodes = servers as f64;
        let boards = audience.boards as f64;
        // Each board's changes are read once a tick at the most, with all events since.
        let events = audience.rate * boards * nodes;
        let redis_reads = nodes * (boards * frames + 1.0);
        let redis_hints = events;
        let bytes = redis_reads * READ_OVERHEAD as f64
            + redis_hints * HINT_BYTES as f64
            + events * EVENT_BYTES as f64;
        let return_s = viewers / (nodes * machine.joins as f64);
        let snapshots = viewers * audience.snapshot_bytes as f64 * 8.0 / 1e9;
        Ok(Self {
            frames,
            deliveries,
            cores,
            memory_gib,
            egress_gbit,
            servers,
            bound,
            viewers_a_server: audience.viewers.div_ceil(servers),
            redis_reads,
            redis_hints,
            redis_mbit: bytes * 8.0 / 1e6,
            return_s,
            return_gbit: if return_s > 0.0 {
                snapshots / return_s
            } else {
                0.0
            },
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: String| writeln!(f, "{name:<28}{value}");
        line("frames a viewer", format!("{:.1} a second", self.frames))?;
        line("deliveries", format!("{:.0} a second", self.deliveries))?;
        line("processor", format!("{:.1} cores busy", self.cores))?;
        line("memory", format!("{:.1} GiB for viewers", self.memory_gib))?;
        line("egress", format!("{:.1} Gbit/s", self.egress_gbit))?;
        line(
            "servers",
            format!("{} (bound by {})", self.servers, self.bound),
        )?;
        line("viewers a server", self.viewers_a_server.to_string())?;
        line(
            "Redis",
            format!(
                "{:.0} reads and {:.0} hints a second, {:.1} Mbit/s",
                self.redis_reads, self.redis_hints, self.redis_mbit
            ),
        )?;
        line("everybody back after", format!("{:.1} s", self.return_s))?;
        line(
            "snapshots meanwhile",
            format!("{:.1} Gbit/s at the most", self.return_gbit),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn million(rate: f64) -> Plan {
        let audience = Audience {
            viewers: 1_000_000,
            rate,
            ..Audience::default()
        };
        Plan::new(&audience, &Machine::default()).unwrap()
    }

    /// The sums of docs/capacity.md, done by hand.
    #[test]
    fn a_million_viewers_at_twenty_changes_a_second() {
        let plan = million(20.0);
        assert!((plan.deliveries - 20e6).abs() < 1.0);
        // 20,000,000 × 10 us.
        assert!((plan.cores - 200.0).abs() < 1e-6);
        // 20,000,000 × (135 + 94) bytes × 8.
        assert!((plan.egress_gbit - 36.64).abs() < 1e-6);
        // 200 / (8 × 0.5).
        assert_eq!((plan.servers, plan.bound), (50, "processor"));
        assert_eq!(plan.viewers_a_server, 20_000);
        // 50 × (20 + 1), 50 × 20.
        assert!((plan.redis_reads - 1050.0).abs() < 1e-6);
        assert!((plan.redis_hints - 1000.0).abs() < 1e-6);
        // 1,000,000 / (50 × 2,000).
        assert!((plan.return_s - 10.0).abs() < 1e-6);
    }

    #[test]
    fn more_than_one_frame_a_tick_is_never_sent() {
        let (at_tick, above) = (million(20.0), million(200.0));
        assert!((at_tick.deliveries - above.deliveries).abs() < 1e-6);
        assert_eq!(at_tick.servers, above.servers);
        // The events are read all the same.
        assert!(above.redis_hints > at_tick.redis_hints);
    }

    #[test]
    fn a_quiet_audience_is_bound_by_the_seats_of_a_server() {
        let plan = million(0.01);
        assert_eq!((plan.servers, plan.bound), (40, "--max-viewers"));
        assert!((plan.memory_gib - 7.152_557).abs() < 1e-3);
    }

    #[test]
    fn an_hour_in_which_nobody_watches_needs_one_server() {
        let audience = Audience::default();
        let plan = Plan::new(&audience, &Machine::default()).unwrap();
        assert_eq!((plan.servers, plan.viewers_a_server), (1, 0));
        assert!(plan.return_gbit.abs() < 1e-9);
    }

    #[test]
    fn figures_without_sense_are_refused_by_name() {
        for (machine, name) in [
            (
                Machine {
                    cores: 0,
                    ..Machine::default()
                },
                "--cores",
            ),
            (
                Machine {
                    load: 1.5,
                    ..Machine::default()
                },
                "--load",
            ),
            (
                Machine {
                    delivery_us: f64::NAN,
                    ..Machine::default()
                },
                "--delivery-us",
            ),
        ] {
            let refused = Plan::new(&Audience::default(), &machine).unwrap_err();
            assert!(refused.starts_with(name), "{refused}");
        }
        let audience = Audience {
            rate: -1.0,
            ..Audience::default()
        };
        assert!(Plan::new(&audience, &Machine::default()).is_err());
    }

    /// What the documentation shows is what the program says.
    #[test]
    fn the_page_shows_what_the_program_computes() {
        let page = include_str!("../../../docs/capacity.md");
        let shown = million(20.0).to_string();
        assert!(page.contains(&shown), "docs/capacity.md lacks\n{shown}");
    }
}
