/**
 * Tells those who listen what happened, seldom enough to be listened to.
 * @module announce
 */
import { compareValues } from './order.js';
import { formatValue } from './format.js';

/** Between two announcements, in ms. */
const PAUSE_MS = 12_000;
/** Rows named in one; the rest is counted. */
const NAMED = 3;

export class Announcer {
  #region;
  #rows = null;
  #timer = 0;

  constructor(region) {
    this.#region = region;
  }

  /** To be called after every change; speaks of all changes since it last spoke. */
  update(board, layout) {
    this.#rows ??= index(board.rows);
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      const text = summary(this.#rows, board, layout);
      this.#rows = index(board.rows);
      if (text) this.#region.textContent = text;
    }, PAUSE_MS);
  }
}

const index = rows => new Map(rows.map(row => [row.id, row]));

/** Who improved in the first column, the best first. */
function summary(before, board, { values: [main] }) {
  if (!main) return '';
  const sign = main.column.order === 'desc' ? 1 : -1;
  const better = board.rows.flatMap((row, i) => {
    const old = before.get(row.id);
    if (!old || sign * compareValues(row.values[main.index], old.values[main.index]) <= 0) return [];
    const rank = board.ranks[i] === null ? '' : `, rank ${board.ranks[i]}`;
    return [`${row.name ?? row.id}: ${formatValue(row.values[main.index], main.column)} ${main.column.name}${rank}`];
  });
  const more = better.length > NAMED ? `; and ${better.length - NAMED} more` : '';
  return better.slice(0, NAMED).join('; ') + more;
}
