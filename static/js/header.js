/**
 * Above the board: the contest's name, phase and clock, what must be said about the results, and the connection.
 * @module header
 */
import { clockWords, freezeNotice, isRunning, isWaiting, momentOf, newestAccepted, phaseWords, progressOf } from './clock.js';
import { element, setText } from './row.js';

/** Often enough that a second is never skipped, in ms. */
const TICK_MS = 250;

/** Why a client stopped, in words. */
export const REASONS = {
  'bad-request': 'the server does not understand this address',
  'key-needed': 'a key is needed',
  'not-found': 'there is no such board',
  deleted: 'the board was deleted',
  closed: 'closed',
};

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export class Header {
  #client;
  #view;
  #id;
  /** Of which rows the newest result is known. */
  #counted = { rows: null, newest: null };
  #parts = Object.fromEntries(['title', 'phase', 'finality', 'time', 'aside', 'progress', 'notice', 'connection']
    .map(id => [id, document.getElementById(id)]));

  constructor(client, view, id) {
    this.#client = client;
    this.#view = view;
    this.#id = id;
    this.#name(id);
    client.addEventListener('status', () => this.tick());
    setInterval(() => this.tick(), TICK_MS);
  }

  tick() {
    this.#showConnection();
    const { board } = this.#client;
    const state = board?.state;
    if (!state?.phase) {
      this.#parts.progress.hidden = true;
      this.#showNotices([]);
      return;
    }
    this.#name(state.name || this.#id);
    const now = momentOf(state, this.#client.serverNow());
    const newest = isRunning(now.phase) && now.elapsed === null ? this.#newest(board) : null;
    const pause = isWaiting(now.phase) ? state.countdown_pause_ms ?? null : null;
    const { time, aside } = clockWords(now, pause, newest);
    setText(this.#parts.phase, phaseWords(now, pause !== null));
    setText(this.#parts.finality, finality(now));
    setText(this.#parts.time, time);
    setText(this.#parts.aside, aside);
    this.#showProgress(now, progressOf(now, newest));
    this.#showNotices([alarm(state), freezeNotice(now, this.#view)]);
  }

  #name(name) {
    setText(this.#parts.title, name);
    if (document.title !== name) document.title = name;
  }

  #newest(board) {
    if (this.#counted.rows !== board.rows) this.#counted = { rows: board.rows, newest: newestAccepted(board) };
    return this.#counted.newest;
  }

  #showProgress({ duration, freeze }, passed) {
    const { progress } = this.#parts;
    progress.hidden = passed === null || !duration;
    if (progress.hidden) return;
    progress.querySelector('.elapsed').style.transform = `scaleX(${(passed / duration).toFixed(4)})`;
    progress.querySelector('.frozen').style.width = freeze === null ? '0' : `${100 * (1 - freeze / duration)}%`;
  }

  /** @param {({kind?: string, text: string}|string|null)[]} notices */
  #showNotices(notices) {
    const { notice } = this.#parts;
    const said = notices.filter(Boolean);
    const key = JSON.stringify(said);
    if (notice.dataset.key === key) return;
    notice.dataset.key = key;
    notice.hidden = !said.length;
    notice.replaceChildren(...said.map(item => {
      const line = element('p', item.kind ?? 'freeze');
      line.textContent = item.text ?? item;
      return line;
    }));
  }

  #showConnection() {
    const { status } = this.#client;
    const { connection } = this.#parts;
    connection.dataset.name = status.name;
    setText(connection, connectionWords(status));
  }
}

/** @param {import('./client.js').Status} status */
export function connectionWords({ name, transport, since, reason }) {
  switch (name) {
    case 'connecting': return 'Connecting…';
    case 'live': return transport === 'poll' ? 'Live, every 5 seconds' : 'Live';
    case 'behind': return 'Catching up…';
    case 'reconnecting': return 'Reconnecting…';
    case 'offline': return `Offline since ${timeOfDay.format(since)}`;
    case 'stale': return 'Server cannot reach its store';
    default: return `Stopped: ${REASONS[reason] ?? reason}`;
  }
}

function alarm({ store, feed, feed_since }) {
  if (store === 'stale') return { kind: 'alarm', text: 'The server has lost touch with its store: these standings may be old.' };
  if (feed !== 'silent') return null;
  const since = feed_since ? ` since ${timeOfDay.format(Date.parse(feed_since))}` : '';
  return { kind: 'alarm', text: `The judges’ feed has been silent${since}: these standings may be behind.` };
}

function finality({ phase, start }) {
  if (phase === 'finalized') return '';
  if (!isWaiting(phase)) return 'Results are not final';
  return start === null ? '' : moment.format(start);
}
