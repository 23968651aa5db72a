/**
 * The two orders of a board: the exact one that deltas rely on, and the one people read.
 * @module order
 */

/**
 * Compares strings by the bytes of their UTF-8, without encoding them.
 *
 * UTF-8 sorts by code point and JavaScript by UTF-16 unit; they differ only where a surrogate (a code point above U+FFFF)
 * meets a unit from U+E000 on, so these two ranges change places.
 *
 * @param {string} a
 * @param {string} b
 * @returns {number} negative, zero or positive
 */
export function compareUtf8(a, b) {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return lift(x) - lift(y);
  }
  return a.length - b.length;
}

const lift = unit => (unit < 0xd800 ? unit : unit >= 0xe000 ? unit - 0x800 : unit + 0x2000);

/**
 * Compares two column values. Integers beyond 2^53 travel as strings of digits, because JSON numbers would lose them here.
 *
 * @param {number|string} a
 * @param {number|string} b
 * @returns {number}
 */
export function compareValues(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const x = BigInt(a);
  const y = BigInt(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

/**
 * Compares rows by their columns alone.
 *
 * @param {{order: string}[]} columns
 * @returns {(a: {values: any[]}, b: {values: any[]}) => number}
 */
export function byColumns(columns) {
  const signs = columns.map(column => (column.order === 'desc' ? -1 : 1));
  return (a, b) => {
    for (let i = 0; i < signs.length; i++) {
      const difference = compareValues(a.values[i], b.values[i]);
      if (difference) return difference * signs[i];
    }
    return 0;
  };
}

/**
 * The exact order: columns, then id by UTF-8 bytes in the direction the snapshot states. It is total, so every client agrees.
 *
 * @param {{order: string}[]} columns
 * @param {"asc"|"desc"} ids
 */
export function exactOrder(columns, ids) {
  const columnOrder = byColumns(columns);
  const sign = ids === 'desc' ? -1 : 1;
  return (a, b) => columnOrder(a, b) || sign * compareUtf8(a.id, b.id);
}

// One collator for all rows: making one costs more than thousands of comparisons.
const collator = new Intl.Collator('en-US');
const nameOf = row => row.name ?? row.id;

/**
 * The order of the rows by name, then id. It keeps what it found out: names hardly change, and collating those of a thousand
 * teams without a point anew for every delta would cost more than all the rest.
 */
export class NameOrder {
  #names = new Map();
  #places = new Map();

  /** @returns {(a: object, b: object) => number} good for these rows */
  over(rows) {
    if (!rows.every(row => this.#names.get(row.id) === nameOf(row))) {
      this.#names = new Map(rows.map(row => [row.id, nameOf(row)]));
      const sorted = [...this.#names].sort((a, b) => collator.compare(a[1], b[1]) || compareUtf8(a[0], b[0]));
      this.#places = new Map(sorted.map(([id], place) => [id, place]));
    }
    return (a, b) => this.#places.get(a.id) - this.#places.get(b.id);
  }
}

/**
 * The rows in the order people read: those equal in every column by name, then id. The ranks do not change by it, except
 * under "ordinal", where the exact order *is* the rank; there it stays.
 *
 * @param {{rows: object[], ranks: (number|null)[], columns: object[], ties: string}} board
 * @param {NameOrder} [names] kept from one call to the next
 * @returns {{row: object, rank: number|null}[]}
 */
export function displayOrder(board, names = new NameOrder()) {
  const places = board.rows.map((row, i) => ({ row, rank: board.ranks[i] }));
  if (board.ties === 'ordinal') return places;
  const columnOrder = byColumns(board.columns);
  const nameOrder = names.over(board.rows);
  const byName = (a, b) => nameOrder(a.row, b.row);
  // The rows are sorted by columns already: only runs of equal rows need to be looked at.
  for (let start = 0; start < places.length;) {
    let end = start + 1;
    while (end < places.length && columnOrder(places[start].row, places[end].row) === 0) end++;
    if (end - start > 1) {
      const run = places.slice(start, end).sort(byName);
      for (let i = 0; i < run.length; i++) places[start + i] = run[i];
    }
    start = end;
  }
  return places;
}
