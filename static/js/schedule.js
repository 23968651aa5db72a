/**
 * When contests are: those that run, those to come, those that are over. Pure.
 * @module schedule
 */

/** A relative time of CLICS ("5:00:00.000") in ms; 0 where there is none. */
export function relativeTime(text) {
  const [, sign, hours, minutes, seconds] = /^(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(text ?? '') ?? [];
  if (hours === undefined) return 0;
  return (sign ? -1 : 1) * Math.round(1000 * (3600 * hours + 60 * minutes + Number(seconds)));
}

/** A relative time in words: "4 h 30 min". */
export function lengthWords(text) {
  const minutes = Math.round(relativeTime(text) / 60_000);
  const parts = [[Math.floor(minutes / 60), 'h'], [minutes % 60, 'min']].filter(([count]) => count);
  return parts.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/**
 * @param {object} contest a CLICS contest
 * @param {object|null} state its CLICS state, which knows better than the plan: contests start late, and old ones are
 *   replayed. null: only the plan is known
 * @param {number} now ms
 * @returns {"running"|"coming"|"over"}
 */
export function groupOf({ start_time, duration }, state, now) {
  if (state) return state.ended ? 'over' : state.started ? 'running' : 'coming';
  if (!start_time) return 'coming';
  const elapsed = now - Date.parse(start_time);
  return elapsed < 0 ? 'coming' : !duration || elapsed < relativeTime(duration) ? 'running' : 'over';
}
