/**
 * Follows one board of a rankcast server: takes the snapshot, applies what is pushed, and comes back by itself.
 *
 *     const client = new Client('/api/contests/finals', { view: 'public' });
 *     client.addEventListener('board', () => draw(client.board.rows, client.board.ranks));
 *     client.addEventListener('status', () => show(client.status));
 *     client.start();
 *
 * It prefers WebSocket, falls back to server-sent events and then to polling where a proxy lets nothing else through. The
 * last known board stays in `client.board` whatever happens to the connection.
 * @module client
 */
import { Backoff, jitter } from './backoff.js';
import { Board } from './board.js';
import { ServerClock } from './server_clock.js';
import { Timers } from './timers.js';
import { HttpFault, openEventSource, openPolling, openWebSocket, request } from './transport.js';

/** A connection that lasted this long, in ms, was a good one: the next backoff starts from the beginning. */
const STABLE_MS = 5_000;
/** A connection that said nothing for this long after it was asked for, in ms, has failed. */
const SILENT_OPEN_MS = 10_000;
/** Quiet for this long, in ms, a connection must prove itself: the server tells its state every 25 s. */
const QUIET_MS = 60_000;
/** Spread of the quiet check, in ms: all viewers of a quiet board fell silent in the same moment. */
const QUIET_SPREAD_MS = 30_000;
/** Without a connection for this long, in ms, it is no longer a hiccup but offline. */
const OFFLINE_MS = 8_000;
/** The server closes after "bye" at once; after this, in ms, we do. */
const BYE_MS = 2_000;
/** Frames kept while a reload is under way. More than this, and coming back with the position is cheaper. */
const KEPT_FRAMES = 1_000;
/** Answers in a row that are older than the board wanted, after which it is taken: the server has waited for each. */
const OLD_ANSWERS = 3;
/** Failures in a row, before any message, after which a transport is taken to be blocked. */
const BLOCKED_AFTER = 2;
/** While not on WebSocket, try it again this often, in ms. */
const UPGRADE_MS = 300_000;
/** When woken, a waiting attempt is made within this time, in ms. */
const WAKE_MS = 1_000;

const LADDER = ['websocket', 'sse', 'poll'];
const OPEN = { websocket: openWebSocket, sse: openEventSource, poll: openPolling };

/** Close codes and HTTP statuses after which coming back is of no use. */
const FATAL = new Map([
  [4400, 'bad-request'], [4401, 'key-needed'], [4404, 'not-found'], [4410, 'deleted'],
  [400, 'bad-request'], [401, 'key-needed'], [403, 'key-needed'], [404, 'not-found'], [410, 'deleted'],
]);

/**
 * @typedef {object} Status
 * @property {"connecting"|"live"|"behind"|"reconnecting"|"offline"|"stale"|"stopped"} name
 *   connecting: for the first time. live: what is shown is what the server shows. behind: the whole board is being fetched
 *   again. reconnecting: the connection broke a moment ago. offline: it has been gone for a while. stale: we hear the
 *   server, but it does not hear its store. stopped: for good, see `reason`.
 * @property {"websocket"|"sse"|"poll"} transport
 * @property {number|null} since when the server was last heard, ms of the local clock; only while not connected
 * @property {number|null} retryAt when the next attempt is made, ms of the local clock
 * @property {"bad-request"|"key-needed"|"not-found"|"deleted"|"closed"|null} reason why it stopped
 */

/** Fires `board` (detail: the message that changed it), `follow` (detail: the message) and `status` (detail: the status). */
export class Client extends EventTarget {
  /** @type {Board|null} the last known board; the same object for the client's whole life */
  board = null;
  /** @type {Status} */
  status = { name: 'connecting', transport: 'websocket', since: null, retryAt: null, reason: null };

  #env;
  #timers;
  #resource;
  #query;
  #clock = new ServerClock();
  #backoff = new Backoff();
  #etag = null;

  /** Counts what was begun; the continuation of anything begun earlier must not touch this client any more. */
  #attempt = 0;
  #link = null;
  #transport = 'websocket';
  /** True once this link has delivered a message: then, and only then, it counts as connected. */
  #spoke = false;
  #everSpoke = false;
  #openedAt = 0;
  #heardAt = null;
  /** Since when there is no connection, ms of the local clock; null while there is one. */
  #downSince = null;
  #retryAt = null;
  #stopped = null;
  /** Links in a row that ended before a word. */
  #blocked = 0;
  /** Resumes in a row without a delta applied: the second means that our board itself is wrong. */
  #resumes = 0;
  #distrust = false;
  /** @type {{epoch: string, version: number, kept: object[], tries: number, old: number}|null} the reload under way */
  #reload = null;

  /**
   * @param {string} resource a contest or board: `/api/contests/finals`, or a full URL
   * @param {object} [options]
   * @param {string} [options.view] of a contest: public (default), jury, ceremony
   * @param {number|"all"} [options.limit]
   * @param {string[]} [options.follow] up to 5 ids to be told of wherever they stand
   * @param {string} [options.ticket] for a protected view
   * @param {object} [options.env] surroundings, for tests: fetch, WebSocket, EventSource, setTimeout, clearTimeout, now,
   *   random, base
   */
  constructor(resource, { view, limit = 'all', follow = [], ticket, env = browser() } = {}) {
    super();
    this.#env = env;
    this.#timers = new Timers(env);
    this.#resource = resource;
    this.#query = { view, limit, ticket, follow: follow.length ? follow.join(',') : undefined };
  }

  /** Starts following. Does nothing when started already. */
  start() {
    if (this.#attempt) return;
    this.#down();
    this.#run();
  }

  /** Stops for good and lets go of the connection; the board stays. */
  stop(reason = 'closed') {
    this.#attempt++;
    this.#drop();
    this.#timers.clear();
    this.#stopped ??= reason;
    this.#retryAt = null;
    this.#publish();
  }

  /**
   * To be called when the page was asleep or the network came back: a connection that has been quiet for long is made anew,
   * a missing one is tried soon.
   */
  wake() {
    if (this.#stopped) return;
    const now = this.#env.now();
    if (this.#spoke) {
      if (now - this.#heardAt > QUIET_MS) this.#comeBack();
    } else if (this.#retryAt !== null) {
      // Only a waiting attempt can be brought forward, and not before the time the server named.
      const soon = this.#backoff.owed(now) + this.#env.random() * WAKE_MS;
      if (now + soon < this.#retryAt) this.#retryIn(soon);
    }
  }

  /** Asks the server whether our position is still the newest, and comes back if not, or if nobody answers. */
  async verify() {
    if (!this.#spoke || this.#reload) return;
    const attempt = this.#attempt;
    const { position } = this.board;
    const newest = await this.#ask().catch(() => null);
    if (attempt !== this.#attempt) return;
    if (newest === position) this.#heard();
    else if (this.board.position === position) this.#comeBack();
  }

  /** Calls `wake` and `verify` when the browser has reason to. */
  listen(window) {
    const { document } = window;
    const wake = () => document.visibilityState === 'visible' && this.wake();
    document.addEventListener('visibilitychange', wake);
    window.addEventListener('pageshow', wake);
    window.addEventListener('online', wake);
    // "offline" is a guess of the browser, often wrong behind a VPN or on loopback: ask before believing it.
    window.addEventListener('offline', () => this.verify());
  }

  /** The server's time, in ms since 1970, by the best estimate there is. */
  serverNow() {
    return this.#env.now() + this.#clock.offset;
  }

  // ---- one attempt: a board, then a link -------------------------------------------------------------------------------

  async #run() {
    const attempt = ++this.#attempt;
    this.#retryAt = null;
    this.#publish();
    try {
      if (!this.board || this.#distrust) await this.#load();
      else if (this.#blocked) await this.#ask();
    } catch (fault) {
      if (attempt === this.#attempt) this.#closed({ code: fault.status, retryAfter: fault.retryAfter });
      return;
    }
    if (attempt !== this.#attempt) return;
    // HTTP works, yet this transport failed before a word: something between us blocks it.
    if (this.#blocked >= BLOCKED_AFTER) {
      this.#transport = LADDER[Math.min(LADDER.indexOf(this.#transport) + 1, LADDER.length - 1)];
      this.#blocked = 0;
    }
    this.#open(attempt);
  }

  #open(attempt) {
    const { follow, ticket } = this.#query;
    const urls = {
      live: this.#url('live', { since: this.board.position, follow, ticket }),
      board: this.#url('board'),
      etag: this.#etag,
    };
    const mine = handler => argument => attempt === this.#attempt && handler(argument);
    this.#openedAt = this.#env.now();
    this.#timers.set('silent', SILENT_OPEN_MS, () => this.#closed({ code: 0, retryAfter: 0 }));
    this.#link = OPEN[this.#transport](this.#env, urls, {
      onmessage: mine(message => this.#receive(message)),
      onclose: mine(close => this.#closed(close)),
    });
  }

  #closed(close) {
    const opened = this.#link !== null;
    const spoke = this.#spoke;
    this.#drop();
    if (FATAL.has(close.code)) {
      this.stop(FATAL.get(close.code));
      return;
    }
    const now = this.#env.now();
    if (spoke) {
      this.#down();
      if (now - this.#openedAt > STABLE_MS) this.#backoff.failures = 0;
      this.#preferWebSocket();
    } else if (opened) {
      this.#blocked++;
    }
    this.#retryIn(this.#backoff.next(close, now, this.#env.random));
  }

  /** Gives up this connection and comes back with our position, at once but not in the same moment as everyone else. */
  #comeBack() {
    this.#drop();
    this.#down();
    this.#retryIn(jitter(this.#resumes, this.#env.random));
  }

  #retryIn(delay) {
    this.#attempt++;
    this.#retryAt = this.#env.now() + delay;
    this.#timers.set('retry', delay, () => this.#run());
    this.#publish();
  }

  #preferWebSocket() {
    if (this.#transport === 'websocket') return;
    this.#transport = 'websocket';
    // One more failure is enough to step down again.
    this.#blocked = BLOCKED_AFTER - 1;
  }

  #down() {
    this.#downSince = this.#env.now();
    // A little later, lest a timer that fires early finds the time not yet up.
    this.#timers.set('offline', OFFLINE_MS + 50, () => this.#publish());
  }

  #drop() {
    const link = this.#link;
    this.#link = null;
    this.#spoke = false;
    this.#reload = null;
    this.#timers.clear('silent', 'quiet', 'bye', 'reload', 'upgrade', 'retry');
    link?.close();
  }

  // ---- messages --------------------------------------------------------------------------------------------------------

  #receive(message) {
    this.#heard();
    switch (message.type) {
      case 'reload':
        this.#wantReload(message);
        break;
      case 'bye':
        this.#backoff.notBefore(this.#env.now() + (message.retry_ms ?? 0));
        this.#timers.set('bye', BYE_MS, () => this.#closed({ code: 1012, retryAfter: 0 }));
        break;
      case 'follow':
        this.#fire('follow', message);
        break;
      case 'state':
        this.#clock.sample(Date.parse(message.now) - this.#env.now());
        this.#apply(message);
        break;
      case 'snapshot':
        // It overtakes whatever was being fetched. On a link it is where the deltas go on from, even if that is behind us; a
        // poll that is behind comes from another server, and is passed over.
        this.#reload = null;
        this.#timers.clear('reload');
        if (this.#transport === 'poll') this.#apply(message);
        else {
          this.board.reset(message);
          this.#fire('board', message);
        }
        break;
      default:
        if (!this.#reload) this.#apply(message);
        else if (this.#reload.kept.push(message) > KEPT_FRAMES) this.#comeBack();
    }
    this.#publish();
  }

  /** Returns false where the board has to be resumed; the link is gone then. */
  #apply(message) {
    const outcome = this.board.apply(message);
    if (outcome === 'resume') {
      this.#distrust ||= ++this.#resumes > 1;
      this.#comeBack();
      return false;
    }
    if (outcome === 'applied') {
      if (message.type === 'delta') this.#resumes = 0;
      this.#fire('board', message);
    }
    return true;
  }

  #heard() {
    this.#heardAt = this.#env.now();
    this.#timers.set('quiet', QUIET_MS + this.#env.random() * QUIET_SPREAD_MS, () => this.verify());
    if (this.#spoke) return;
    this.#spoke = true;
    this.#everSpoke = true;
    this.#downSince = null;
    this.#blocked = 0;
    this.#timers.clear('silent', 'offline');
    if (this.#transport === 'websocket') return;
    this.#timers.set('upgrade', UPGRADE_MS, () => {
      this.#preferWebSocket();
      this.#comeBack();
    });
  }

  // ---- reload ----------------------------------------------------------------------------------------------------------

  #wantReload({ epoch = this.board.epoch, version, retry_ms = 0 }) {
    // Frames of another epoch would pass for newer or older ones of this.
    const kept = this.#reload?.epoch === epoch ? this.#reload.kept : [];
    this.#reload = { epoch, version, kept, tries: 0, old: 0 };
    this.#timers.set('reload', retry_ms, () => this.#fetchWanted());
  }

  async #fetchWanted() {
    const attempt = this.#attempt;
    const reload = this.#reload;
    const fault = await this.#load(reload).then(() => null, error => error);
    // A newer reload, or the loss of the link, has taken over.
    if (attempt !== this.#attempt || reload !== this.#reload) return;
    if (FATAL.has(fault?.status)) {
      this.stop(FATAL.get(fault.status));
    } else if (fault) {
      const delay = fault.retryAfter + jitter(reload.tries++, this.#env.random);
      this.#timers.set('reload', delay, () => this.#fetchWanted());
    } else if (this.board.epoch !== reload.epoch || this.board.version < reload.version) {
      // HTTP and the socket do not agree, maybe two servers. What there is is shown, and the socket brings the rest; each
      // time later, lest we run in a circle.
      this.#resumes++;
      this.#comeBack();
    } else {
      this.#reload = null;
      if (reload.kept.every(message => this.#apply(message))) this.#publish();
    }
  }

  // ---- HTTP ------------------------------------------------------------------------------------------------------------

  /**
   * Fetches the whole board. Throws HttpFault, also for the first answers that are older than the position wanted.
   * @param {{epoch: string, version: number, old: number}} [wanted]
   */
  async #load(wanted) {
    const attempt = this.#attempt;
    const min = wanted && `${wanted.epoch}-${wanted.version}`;
    const { json, etag, date } = await request(this.#env, this.#url('board', { min }));
    if (attempt !== this.#attempt) return;
    const old = json.epoch === wanted?.epoch && json.version < wanted.version;
    if (old && wanted.old++ < OLD_ANSWERS) throw new HttpFault(0);
    this.#etag = etag;
    this.#clock.rough(date - this.#env.now());
    if (!this.board) this.board = new Board(json);
    // A board that is wrong is worth less than its own past, and so is one that is ahead of the server that sends the deltas.
    else if (this.#distrust || (wanted && !old)) this.board.reset(json);
    else this.board.apply(json);
    this.#distrust = false;
    this.#fire('board', json);
  }

  /** The newest position, from the ETag; a proxy may have weakened it or put its own mark behind. */
  async #ask() {
    const { etag } = await request(this.#env, this.#url('board'), { method: 'HEAD' });
    return /"(.+?-\d+)/.exec(etag)?.[1];
  }

  #url(leaf, more = {}) {
    const { view, limit } = this.#query;
    const query = Object.entries({ view, limit, ...more }).filter(([, value]) => value !== undefined);
    return `${this.#resource}/${leaf}?${new URLSearchParams(query)}`;
  }

  // ---- telling ---------------------------------------------------------------------------------------------------------

  #publish() {
    const next = {
      name: this.#name(),
      transport: this.#transport,
      since: this.#spoke ? null : this.#heardAt ?? this.#downSince,
      retryAt: this.#retryAt,
      reason: this.#stopped,
    };
    if (Object.keys(next).every(key => next[key] === this.status[key])) return;
    this.status = next;
    this.#fire('status', next);
  }

  #name() {
    if (this.#stopped) return 'stopped';
    if (!this.#spoke) {
      if (this.#env.now() - this.#downSince >= OFFLINE_MS) return 'offline';
      return this.#everSpoke || this.#backoff.failures ? 'reconnecting' : 'connecting';
    }
    if (this.#reload) return 'behind';
    return this.board.state?.store === 'stale' ? 'stale' : 'live';
  }

  #fire(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

function browser() {
  const { WebSocket, EventSource } = globalThis;
  return {
    WebSocket,
    EventSource,
    fetch: (...request) => globalThis.fetch(...request),
    setTimeout: (...timer) => globalThis.setTimeout(...timer),
    clearTimeout: timer => globalThis.clearTimeout(timer),
    now: () => Date.now(),
    random: () => Math.random(),
    base: globalThis.location?.href,
  };
}
