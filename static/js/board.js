/**
 * A board, kept up to date from messages. Pure: no DOM, no network, no clock.
 *
 * Rows are never changed in place: a row that changes becomes a new object, so whoever draws them can compare by identity.
 * @module board
 */
import { exactOrder } from './order.js';
import { ranksOf } from './rank.js';

export { compareUtf8, compareValues, displayOrder, NameOrder } from './order.js';
export { ranksOf } from './rank.js';

/**
 * What became of a message: it changed the board; it told nothing new; or the board cannot take it and must be resumed
 * from its position.
 * @typedef {"applied"|"ignored"|"resume"} Outcome
 */

export class Board {
  /** @type {Map<string, object>} the rows of the window by id; the same objects as in `#rows` */
  #byId = new Map();
  /** @type {object[]} the window in exact order */
  #rows = [];
  /** @type {(number|null)[]|null} ranks of `#rows`; null until someone asks */
  #ranks = null;
  /** Version of the newest problem statistics: they travel beside the deltas and may be overtaken by a snapshot. */
  #problemsVersion = -1;
  /** Compares two rows in the exact order of the present columns. */
  #compare = () => 0;

  /** @param {object} snapshot a snapshot message */
  constructor(snapshot) {
    this.state = null;
    this.reset(snapshot);
  }

  get rows() {
    return this.#rows;
  }

  /** Ranks of `rows`, null for those without one. */
  get ranks() {
    this.#ranks ??= ranksOf(this.#rows, this.columns, this.ties, this.tiedBeyond);
    return this.#ranks;
  }

  /** `epoch-version`, as `since=` and `min=` take it. */
  get position() {
    return `${this.epoch}-${this.version}`;
  }

  /** @param {string} id */
  row(id) {
    return this.#byId.get(id);
  }

  /**
   * Applies one message. A board that answers "resume" is unchanged.
   *
   * @param {object} message
   * @returns {Outcome}
   */
  apply(message) {
    switch (message.type) {
      case 'snapshot':
        if (message.epoch === this.epoch && message.version < this.version) return 'ignored';
        this.reset(message);
        return 'applied';
      case 'delta':
        return this.#delta(message);
      case 'problems':
        return this.#statistics(message);
      case 'state':
        this.state = withoutType(message);
        return 'applied';
      default:
        return 'ignored';
    }
  }

  /** Takes a snapshot, whatever was held before. */
  reset(snapshot) {
    this.epoch = snapshot.epoch;
    this.version = snapshot.version;
    this.columns = snapshot.columns;
    this.ids = snapshot.ids ?? 'asc';
    this.ties = snapshot.ties ?? 'competition';
    this.tiedBeyond = snapshot.tied_beyond ?? 0;
    this.limit = snapshot.limit ?? null;
    this.total = snapshot.total;
    this.problems = snapshot.problems ?? [];
    this.#problemsVersion = snapshot.version;
    // A snapshot is encoded once a version, so a message may have told of a later state already.
    const state = snapshot.state ?? null;
    if (state && !(Date.parse(state.now) < Date.parse(this.state?.now))) this.state = state;
    this.#compare = exactOrder(this.columns, this.ids);
    const rows = snapshot.rows.map(row => merged({}, row)).sort(this.#compare);
    this.#byId = new Map(rows.map(row => [row.id, row]));
    this.#keep(rows);
  }

  #delta({ from, version, rows = [], gone = [], total, tied_beyond }) {
    if (version <= this.version) return 'ignored';
    if (from > this.version) return 'resume';

    const changed = new Map();
    for (const row of rows) {
      const known = changed.get(row.id) ?? this.#byId.get(row.id);
      // Part of a row nobody told us about: server and client disagree, so nothing of this delta is used.
      if (!row.full && !known) return 'resume';
      changed.set(row.id, merged(row.full ? {} : known, row));
    }
    const moved = new Set([...changed.keys(), ...gone]);
    for (const [id, row] of changed) this.#byId.set(id, row);
    for (const id of gone) {
      changed.delete(id);
      this.#byId.delete(id);
    }

    const kept = this.#rows.filter(row => !moved.has(row.id));
    const fresh = [...changed.values()].sort(this.#compare);
    this.version = version;
    if (total !== undefined) this.total = total;
    if (tied_beyond !== undefined) this.tiedBeyond = tied_beyond;
    this.#keep(interleave(kept, fresh, this.#compare));
    return 'applied';
  }

  #statistics({ version, problems }) {
    if (version < this.#problemsVersion) return 'ignored';
    this.#problemsVersion = version;
    const changed = new Map(problems.map(problem => [problem.id, problem]));
    const known = this.problems.map(problem => {
      const next = changed.get(problem.id);
      changed.delete(problem.id);
      // Replaced whole, so that a first that moved away leaves nothing behind.
      return next ?? problem;
    });
    this.problems = [...known, ...changed.values()];
    return 'applied';
  }

  /** Takes the rows in exact order, of which `#byId` knows all; cuts both to the limit. */
  #keep(rows) {
    if (this.limit !== null) for (const row of rows.splice(this.limit)) this.#byId.delete(row.id);
    this.#rows = rows;
    this.#ranks = null;
  }
}

/** Merges a row field by field, cells by problem; null removes, so no row ever holds one. A cell is replaced whole. */
function merged(row, change) {
  const next = { ...row };
  for (const [field, value] of Object.entries(change)) {
    if (field === 'full') continue;
    if (value === null) delete next[field];
    else if (field === 'cells') next.cells = mergedCells(row.cells, value);
    else next[field] = value;
  }
  return next;
}

function mergedCells(cells, change) {
  // Without a prototype: "constructor" and "__proto__" are valid problem ids.
  const next = Object.assign(Object.create(null), cells);
  for (const [problem, cell] of Object.entries(change)) {
    if (cell === null) delete next[problem];
    else next[problem] = cell;
  }
  return next;
}

/** Puts a few sorted rows among many sorted ones: a binary search for each, where sorting would compare them all. */
function interleave(kept, fresh, compare) {
  const rows = [];
  let start = 0;
  for (const row of fresh) {
    let low = start;
    let high = kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(kept[middle], row) < 0) low = middle + 1;
      else high = middle;
    }
    for (; start < low; start++) rows.push(kept[start]);
    rows.push(row);
  }
  for (; start < kept.length; start++) rows.push(kept[start]);
  return rows;
}

function withoutType({ type, ...rest }) {
  return rest;
}
