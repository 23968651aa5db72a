/**
 * One team's standing on one problem: what to show for it and how to say it. Pure.
 * @module cell
 */
import { formatDecimal, formatValue } from './format.js';

/**
 * @typedef {object} Face
 * @property {"solved"|"wrong"|"pending"|"none"} state
 * @property {string} mark the large sign
 * @property {string} detail the small text below it
 * @property {boolean} first first to solve
 * @property {number|null} share of the points, 0 to 1, where it is less than all of them
 * @property {string} label for those who hear it
 */

const NONE = { state: 'none', mark: '', detail: '', first: false, share: null, label: 'no submission' };
const times = (count, word, plural = `${word}s`) => `${count} ${count === 1 ? word : plural}`;

/**
 * @param {{tries?: number, time?: number, pending?: number, score?: number|string, first?: boolean}|undefined} cell
 * @param {{max_score?: number}} problem
 * @param {{time: object, score: object}} units the columns whose unit and scale the cell's numbers are in
 * @returns {Face}
 */
export function faceOf(cell, problem, units) {
  if (!cell) return NONE;
  const { tries = 0, pending = 0, score, time, first = false } = cell;
  const waiting = pending ? `${pending} pending` : '';
  if (score !== undefined && score !== null) return points(cell, problem, units);
  if (time !== undefined && time !== null) {
    const at = formatValue(time, units.time);
    const unit = units.time.unit === 'min' ? ' min' : '';
    return {
      state: 'solved', mark: tries > 1 ? `+${tries - 1}` : '+', detail: at, first, share: null,
      label: `solved at ${at}${unit}, ${times(tries, 'try', 'tries')}${first ? ', first to solve' : ''}`,
    };
  }
  const failed = tries ? `−${tries}` : '';
  if (pending) {
    const label = tries ? `${waiting}, ${times(tries, 'wrong try', 'wrong tries')}` : waiting;
    return { state: 'pending', mark: pending > 1 ? `?${pending}` : '?', detail: failed, first: false, share: null, label };
  }
  if (tries) return { state: 'wrong', mark: failed, detail: '', first: false, share: null, label: times(tries, 'wrong try', 'wrong tries') };
  return NONE;
}

/** Point scoring. A score of 0 is shown: it is not the same as no submission. */
function points({ tries = 0, pending = 0, score, first = false }, { max_score: max }, units) {
  const mark = formatDecimal(score, units.score.scale ?? 0, { trim: true });
  const zero = BigInt(score) <= 0n;
  const share = max && !zero && Number(score) < Number(max) ? Number(score) / Number(max) : null;
  const detail = pending ? `?${pending}` : tries > 1 ? `×${tries}` : '';
  const state = pending ? 'pending' : zero ? 'wrong' : 'solved';
  const label = `${mark} points, ${times(tries, 'try', 'tries')}${pending ? `, ${pending} pending` : ''}${first ? ', first' : ''}`;
  return { state, mark, detail, first: first && !pending, share: pending ? null : share, label };
}
