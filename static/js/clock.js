/**
 * Where a contest stands at a moment, and how to say it. Pure: the time is given.
 * @module clock
 */
import { formatSeconds } from './format.js';

/**
 * @typedef {object} Moment
 * @property {string} phase the state's phase, moved on where the clock has passed a boundary before the server said so
 * @property {number|null} start ms since 1970
 * @property {number} duration ms
 * @property {number|null} freeze contest time of the freeze, ms; null without one
 * @property {number|null} elapsed ms since the start; negative before it, null where the start is not known
 */

/**
 * @param {object} state a state message
 * @param {number} now the server's time, ms
 * @returns {Moment}
 */
export function momentOf(state, now) {
  const start = state.start_time ? Date.parse(state.start_time) : null;
  const duration = state.duration_ms ?? 0;
  const freeze = state.freeze_ms ? duration - state.freeze_ms : null;
  const elapsed = start === null || state.countdown_pause_ms != null ? null : now - start;
  return { phase: phaseAt(state.phase, elapsed, duration, freeze), start, duration, freeze, elapsed };
}

function phaseAt(phase, elapsed, duration, freeze) {
  if (elapsed === null || !duration) return phase;
  let at = phase;
  if (at === 'before' && elapsed >= 0) at = 'running';
  if (at === 'running' && freeze !== null && elapsed >= freeze) at = 'frozen';
  if ((at === 'running' || at === 'frozen') && elapsed >= duration) at = 'ended';
  return at;
}

/** The phase in plain words. */
export function phaseWords({ phase, elapsed }, paused) {
  if (paused) return 'Countdown paused';
  return {
    before: elapsed === null ? 'Not scheduled yet' : 'Not started yet',
    running: 'Running',
    paused: 'Paused',
    frozen: 'Running, scoreboard frozen',
    ended: 'Contest over',
    thawed: 'Contest over, freeze lifted',
    finalized: 'Final results',
  }[phase] ?? phase;
}

/** The big time and the words beside it. */
export function clockWords(moment, pauseMs) {
  const { phase, elapsed, duration } = moment;
  if (pauseMs != null) return { time: seconds(pauseMs, Math.ceil), aside: 'until the start, paused' };
  if (elapsed === null) return { time: '', aside: '' };
  if (elapsed < 0) return { time: seconds(-elapsed, Math.ceil), aside: 'until the start' };
  if (phase === 'running' || phase === 'frozen' || phase === 'paused') {
    // Cut alike, so that the two always add up to the duration.
    const passed = Math.floor(elapsed / 1000);
    const left = Math.max(0, Math.ceil(duration / 1000) - passed);
    return { time: formatSeconds(passed), aside: `${formatSeconds(left)} left` };
  }
  return { time: seconds(duration, Math.floor), aside: 'contest time' };
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
