/**
 * Ranks from the order of the rows, by tie policy.
 * @module rank
 */
import { compareValues } from './order.js';

/**
 * The rank of every row; null where the row is listed without one (`official: false`), which uses no rank up either.
 *
 * Rows tie when they are in one section and equal in every column with `rank: true`. Ranks restart in each section.
 *
 * @param {{values: any[], official?: boolean}[]} rows in the board's order
 * @param {{rank?: boolean, section?: boolean}[]} columns
 * @param {"competition"|"dense"|"modified"|"ordinal"} ties 1224, 1223, 1334 or 1234
 * @param {number} tiedBeyond ranked rows beyond the window that tie with its last ranked row; "modified" counts them
 * @returns {(number|null)[]}
 */
export function ranksOf(rows, columns, ties, tiedBeyond = 0) {
  const sections = columns.flatMap((column, i) => (column.section ? [i] : []));
  const ranked = columns.flatMap((column, i) => (column.rank ? [i] : []));
  const equal = (a, b, indexes) => {
    for (const i of indexes) if (compareValues(a.values[i], b.values[i]) !== 0) return false;
    return true;
  };

  const ranks = new Array(rows.length).fill(null);
  let group = []; // indexes of the ranked rows that tie, up to the current one
  let before = 0; // ranked rows of this section ahead of the group
  let groups = 0; // groups of this section, this one included

  const close = beyond => {
    group.forEach((index, i) => {
      if (ties === 'dense') ranks[index] = groups;
      else if (ties === 'modified') ranks[index] = before + group.length + beyond;
      else if (ties === 'ordinal') ranks[index] = before + i + 1;
      else ranks[index] = before + 1;
    });
  };

  rows.forEach((row, index) => {
    if (row.official === false) return;
    const last = group.length ? rows[group[group.length - 1]] : null;
    if (last && equal(last, row, sections)) {
      if (equal(last, row, ranked)) {
        group.push(index);
        return;
      }
      close(0);
      before += group.length;
      groups++;
    } else {
      if (last) close(0);
      before = 0;
      groups = 1;
    }
    group = [index];
  });
  close(tiedBeyond);
  return ranks;
}
