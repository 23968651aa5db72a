/**
 * Where a contest stands at a moment, and how to say it. Pure: the time is given.
 *
 * The phase is the server's word and is never moved on here: a feed may start late or end late, and an old contest that is
 * replayed runs years after its start. Only the time within a phase comes from a clock, and only where the two agree.
 * @module clock
 */
import { formatSeconds } from './format.js';

/** Start and end may come so much later than planned, in ms; beyond that the plan says nothing about this run. */
const LATE_MAX_MS = 5 * 60_000;

const UNIT_MS = { min: 60_000, s: 1_000 };

/**
 * @typedef {object} Moment
 * @property {string} phase as the server says
 * @property {number|null} start ms since 1970
 * @property {number|null} duration ms; null for a contest without an end
 * @property {number|null} freeze contest time of the freeze, ms; null without one
 * @property {number|null} elapsed ms since the start; negative before it; null where the clock cannot tell
 */

/**
 * @param {object} state a state message
 * @param {number} now the server's time, ms
 * @returns {Moment}
 */
export function momentOf(state, now) {
  const { phase, countdown_pause_ms: pause } = state;
  const start = state.start_time ? Date.parse(state.start_time) : null;
  const duration = state.duration_ms ?? null;
  const freeze = state.freeze_ms && duration !== null ? Math.max(0, duration - state.freeze_ms) : null;
  const elapsed = start === null || pause != null ? null : now - start;
  return { phase, start, duration, freeze, elapsed: plausible(phase, elapsed, duration) ? elapsed : null };
}

/** Can a contest be in this phase so long after its start? */
function plausible(phase, elapsed, duration) {
  if (elapsed === null) return false;
  if (phase === 'before') return elapsed <= LATE_MAX_MS;
  if (isRunning(phase)) return elapsed >= -LATE_MAX_MS && (duration === null || elapsed <= duration + LATE_MAX_MS);
  return true;
}

/** @param {string} phase */
export const isWaiting = phase => phase === 'before' || phase === 'paused';

/** @param {string} phase */
export const isRunning = phase => phase === 'running' || phase === 'frozen';

/**
 * How far a contest has come: by the clock, or where the clock cannot tell by its newest result.
 *
 * @param {Moment} moment
 * @param {number|null} newest contest time of the newest result, ms
 * @returns {number|null} ms, within the contest
 */
export function progressOf({ phase, elapsed, duration }, newest) {
  if (!isRunning(phase)) return isWaiting(phase) ? null : duration;
  const at = elapsed ?? newest;
  return at === null ? null : Math.max(0, Math.min(at, duration ?? Infinity));
}

/**
 * Contest time of the newest accepted submission.
 *
 * @param {{rows: {values: any[]}[], columns: {name: string, unit?: string}[]}} board
 * @returns {number|null} ms; null where nothing is accepted or the board does not say when
 */
export function newestAccepted({ rows, columns }) {
  const index = columns.findIndex(column => column.name === 'last_accepted');
  const unit = UNIT_MS[columns[index]?.unit];
  if (!unit) return null;
  const newest = rows.reduce((latest, { values }) => Math.max(latest, Number(values[index])), 0);
  return newest ? newest * unit : null;
}

/** The phase in plain words. */
export function phaseWords({ phase, elapsed }, paused) {
  if (paused) return 'Countdown paused';
  return {
    before: elapsed === null ? 'Not scheduled yet' : 'Not started yet',
    running: 'Running',
    paused: 'Paused',
    frozen: 'Scoreboard frozen',
    ended: 'Contest over',
    thawed: 'Contest over, freeze lifted',
    finalized: 'Final results',
  }[phase] ?? phase;
}

const NOTHING = { time: '', aside: '' };

/**
 * The big time and the words beside it.
 *
 * @param {Moment} moment
 * @param {number|null} pauseMs of a paused countdown
 * @param {number|null} newest contest time of the newest result, ms
 */
export function clockWords(moment, pauseMs, newest = null) {
  const { phase, elapsed, duration } = moment;
  if (pauseMs != null) return { time: seconds(pauseMs, Math.ceil), aside: 'until the start, paused' };
  if (isWaiting(phase)) {
    if (elapsed === null) return NOTHING;
    return elapsed < 0 ? { time: seconds(-elapsed, Math.ceil), aside: 'until the start' } : { time: seconds(0, Math.ceil), aside: 'about to start' };
  }
  if (!isRunning(phase)) return duration === null ? NOTHING : { time: seconds(duration, Math.floor), aside: 'contest time' };
  const at = progressOf(moment, newest);
  if (at === null) return NOTHING;
  if (elapsed === null) return { time: hours(at), aside: 'newest accepted' };
  // Cut alike, so that the two always add up to the duration.
  const passed = Math.floor(at / 1000);
  const aside = duration === null ? 'since the start' : `${formatSeconds(Math.max(0, Math.ceil(duration / 1000) - passed))} left`;
  return { time: formatSeconds(passed), aside };
}

/** What must be said plainly about hidden results; null where nothing is hidden. */
export function freezeNotice({ phase, freeze }, view) {
  if (freeze === null || view === 'jury') return null;
  const since = formatSeconds(Math.floor(freeze / 1000));
  if (phase === 'frozen') return `The scoreboard has been frozen since ${since}. Later submissions show as “?”; their results stay hidden until the awards.`;
  if (phase === 'ended') return `The scoreboard is still frozen: results of submissions after ${since} are not shown yet.`;
  return null;
}

const seconds = (ms, round) => formatSeconds(round(ms / 1000));
/** Results are known to the minute, and a bare 2:14 would pass for minutes and seconds. */
const hours = ms => `${formatSeconds(Math.floor(ms / 1000)).replace(/:\d\d$/, '')} h`;
