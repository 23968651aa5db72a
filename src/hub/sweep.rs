//! Sweeps: one encoded edition written to every socket of a lane, one non-blocking write each, without waking a task for
//! any of them. Sockets are spread over shards, a thread each, because a sweep of 15,000 takes longer than a tick: on the
//! runtime it would hold up everybody else.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bytes::Bytes;
use rand::RngExt as _;
use tokio::sync::Notify;

use super::{edition::Edition, lock, socket::Socket};
use crate::protocol::{Close, Frame, Message, frame::PING};

/// How often a quiet connection is pinged, and told the state: proxies cut sockets that are idle for 60 s.
pub const BEAT: Duration = Duration::from_secs(25);

/// How long a WebSocket may be silent, pongs included, before it counts as dead.
pub const SILENCE_MAX: Duration = Duration::from_secs(75);

/// Beats are spread: each second, those whose turn it is.
const SECOND: Duration = Duration::from_secs(1);

/// Viewers of a server that stops come back within this many ms, and so many more for each thousand of them.
const BYE_SPREAD_MS: u64 = 2_000;
const BYE_SPREAD_MS_PER_THOUSAND: u64 = 500;

/// The threads that write to viewers' sockets.
#[derive(Debug)]
pub struct Sweep {
    shards: Vec<Sender<Order>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whose turn it is to take a new socket.
    turn: AtomicUsize,
    /// How many sockets there are.
    members: AtomicUsize,
}

/// What a shard is asked to do.
enum Order {
    /// Take this socket in.
    Join(Arc<Socket>),
    /// Forget it.
    Leave(Arc<Socket>),
    /// Write the newest edition to all who watch this lane.
    Sweep(Arc<Audience>),
    /// Tell everybody, and whoever joins later, that the server stops.
    Farewell {
        /// The longest time, in ms, after which one of them comes back.
        spread: u64,
    },
    /// No more.
    Stop,
}

impl Sweep {
    /// Starts a thread for each core that this process may use.
    ///
    /// # Panics
    /// If the system refuses a thread.
    pub fn start() -> Arc<Self> {
        let number = std::thread::available_parallelism().map_or(1, Into::into);
        let (shards, threads) = (0..number)
            .map(|number| {
                let (send, receive) = channel();
                let thread = std::thread::Builder::new()
                    .name(format!("sweep-{number}"))
                    .spawn(move || Shard::default().run(&receive))
                    .expect("a thread at the start");
                (send, thread)
            })
            .unzip();
        Arc::new(Self {
            shards,
            threads: Mutex::new(threads),
            turn: AtomicUsize::new(0),
            members: AtomicUsize::new(0),
        })
    }

    /// Tells all viewers that the server stops, and when to come back.
    pub fn farewell(&self) {
        let spread = self.bye_spread();
        for shard in 0..self.shards.len() {
            self.order(shard, Order::Farewell { spread });
        }
    }

    /// Over how many ms the viewers of a server that stops come back.
    fn bye_spread(&self) -> u64 {
        let members = self.members.load(Ordering::Relaxed) as u64;
        BYE_SPREAD_MS + members * BYE_SPREAD_MS_PER_THOUSAND / 1000
    }

    /// The message that the server stops, with a time to come back for one viewer.
    pub fn bye(&self) -> Frame {
        bye(self.bye_spread())
    }

    /// Ends the threads, and waits until they have ended. Nothing is written after that.
    pub fn stop(&self) {
        for shard in 0..self.shards.len() {
            self.order(shard, Order::Stop);
        }
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A panic was logged where it happened.
            let _ = thread.join();
        }
    }

    /// A shard that has ended needs no orders.
    fn order(&self, shard: usize, order: Order) {
        let _ = self.shards[shard].send(order);
    }
}

/// All who watch one lane over a WebSocket.
#[derive(Debug)]
pub struct Audience {
    sweep: Arc<Sweep>,
    newest: Mutex<Arc<Edition>>,
    members: AtomicUsize,
    /// How many shards still have to write the newest edition.
    outstanding: AtomicUsize,
    /// Told when they have.
    swept: Arc<Notify>,
}

impl Audience {
    pub(super) fn new(sweep: Arc<Sweep>, swept: Arc<Notify>) -> Arc<Self> {
        Arc::new(Self {
            sweep,
            newest: Mutex::default(),
            members: AtomicUsize::new(0),
            outstanding: AtomicUsize::new(0),
            swept,
        })
    }

    /// Is the newest edition still being written?
    pub(super) fn is_busy(&self) -> bool {
        self.outstanding.load(Ordering::Acquire) > 0
    }

    /// Has an edition written to everybody. Who misses it because of a still newer one is brought up to date by that.
    pub(super) fn publish(self: &Arc<Self>, edition: Edition) {
        if self.members.load(Ordering::Acquire) == 0 {
            return;
        }
        *lock(&self.newest) = Arc::new(edition);
        let shards = self.sweep.shards.len();
        self.outstanding.fetch_add(shards, Ordering::AcqRel);
        for shard in 0..shards {
            self.sweep.order(shard, Order::Sweep(self.clone()));
        }
    }

    /// Takes a socket in. It has to be pushed once after that: what was published before is not written to it.
    pub(super) fn join(&self, socket: Arc<Socket>) -> Membership {
        self.members.fetch_add(1, Ordering::AcqRel);
        self.sweep.members.fetch_add(1, Ordering::Relaxed);
        let shard = self.sweep.turn.fetch_add(1, Ordering::Relaxed) % self.sweep.shards.len();
        self.sweep.order(shard, Order::Join(socket.clone()));
        Membership { socket, shard }
    }
}

/// A shard's part of a sweep; over when dropped, however it ended.
struct Part<'a>(&'a Audience);

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if self.0.outstanding.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.swept.notify_one();
        }
    }
}

/// While it is there, a socket is written to.
pub struct Membership {
    socket: Arc<Socket>,
    shard: usize,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.socket.abandon();
        let audience = self.socket.audience();
        audience.members.fetch_sub(1, Ordering::AcqRel);
        audience.sweep.members.fetch_sub(1, Ordering::Relaxed);
        let leave = Order::Leave(self.socket.clone());
        audience.sweep.order(self.shard, leave);
    }
}

/// The sockets that one thread writes to.
#[derive(Default)]
struct Shard {
    /// By the address of their audience.
    groups: HashMap<usize, Vec<Member>>,
    /// The server stops, and its viewers come back within so many ms.
    leaving: Option<u64>,
    /// Counts seconds, and those who joined, to spread the beats.
    second: u64,
    joined: u64,
}

struct Member {
    socket: Arc<Socket>,
    /// In which second of [`BEAT`] it is pinged.
    beat: u8,
    follows: bool,
}

impl Member {
    /// One socket's fault is no reason to leave all others without news.
    fn guard<T>(&self, work: impl FnOnce(&Socket) -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(|| work(&self.socket)));
        if done.is_err() {
            tracing::error!("a write to a viewer panicked; it has to come back");
            self.socket.abandon();
        }
        done.ok()
    }
}

impl Shard {
    fn run(mut self, orders: &Receiver<Order>) {
        let mut beat = Instant::now() + SECOND;
        loop {
            match orders.recv_timeout(beat.saturating_duration_since(Instant::now())) {
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(order) => self.obey(order),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if beat <= Instant::now() {
                beat = Instant::now() + SECOND;
                self.beat();
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Join(socket) => self.join(socket),
            Order::Leave(socket) => self.leave(&socket),
            Order::Sweep(audience) => {
                let _part = Part(&audience);
                self.sweep(&audience);
            }
            Order::Farewell { spread } => {
                self.leaving = Some(spread);
                for member in self.groups.values().flatten() {
                    member.guard(|socket| farewell(socket, spread));
                }
            }
            Order::Stop => {}
        }
    }

    fn join(&mut self, socket: Arc<Socket>) {
        if let Some(spread) = self.leaving {
            farewell(&socket, spread);
        }
        let group = self.groups.entry(key(socket.audience())).or_default();
        socket.place.store(group.len(), Ordering::Relaxed);
        self.joined += 1;
        group.push(Member {
            beat: (self.joined % BEAT.as_secs()) as u8,
            follows: socket.follows(),
            socket,
        });
    }

    fn leave(&mut self, socket: &Arc<Socket>) {
        let key = key(socket.audience());
        let Some(group) = self.groups.get_mut(&key) else {
            return;
        };
        let place = socket.place.load(Ordering::Relaxed);
        if group
            .get(place)
            .is_some_and(|member| Arc::ptr_eq(&member.socket, socket))
        {
            group.swap_remove(place);
            if let Some(moved) = group.get(place) {
                moved.socket.place.store(place, Ordering::Relaxed);
            }
        }
        if group.is_empty() {
            self.groups.remove(&key);
        }
    }

    fn sweep(&self, audience: &Arc<Audience>) {
        let Some(group) = self.groups.get(&key(audience)) else {
            return;
        };
        let edition = lock(&audience.newest).clone();
        let began = Instant::now();
        let messages = group
            .iter()
            .filter_map(|member| member.guard(|socket| socket.deliver(&edition)))
            .sum();
        metrics::counter!("rankcast_deliveries_total").increment(messages);
        metrics::histogram!("rankcast_sweep_seconds").record(began.elapsed().as_secs_f64());
    }

    /// Pings those whose turn it is, tells them the state, and leaves those of whom nothing is heard. Followed members are
    /// looked after here, once a second.
    fn beat(&mut self) {
        self.second += 1;
        let turn = (self.second % BEAT.as_secs()) as u8;
        for group in self.groups.values() {
            let mut wire: Option<Bytes> = None;
            for member in group {
                let its_turn = member.beat == turn;
                if !its_turn && !member.follows {
                    continue;
                }
                member.guard(|socket| {
                    if its_turn && socket.is_silent(SILENCE_MAX) {
                        return socket.abandon();
                    }
                    if its_turn {
                        let make = || [&PING[..], &socket.state()].concat().into();
                        socket.send(wire.get_or_insert_with(make));
                    }
                    // Whatever it was not told, for whatever reason.
                    socket.refresh();
                });
            }
        }
    }
}

fn key(audience: &Arc<Audience>) -> usize {
    Arc::as_ptr(audience).addr()
}

fn farewell(socket: &Socket, spread: u64) {
    socket.farewell(bye(spread).wire(), Close::Restarting);
}

fn bye(spread: u64) -> Frame {
    let retry_ms = rand::rng().random_range(100..=spread);
    Frame::new(&Message::Bye { retry_ms }, None)
}
