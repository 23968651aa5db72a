/**
 * The head of the table: what the columns are, and how each problem fares.
 * @module columns
 */
import { element } from './row.js';

const TITLES = { solved: 'Solved', penalty: 'Penalty', score: 'Score', total: 'Total', last_accepted: 'Last' };

export class Columns {
  #row;

  constructor(row) {
    this.#row = row;
  }

  /** Draws the head anew; it changes once a second at most. */
  update(layout, nameOf) {
    const rank = text(element('div', 'rank', 'columnheader'), 'Rank');
    const team = element('div', 'team', 'columnheader');
    team.append(text(element('span'), layout.who));
    const values = element('div', 'values', 'none');
    for (const { column } of layout.values) {
      const title = TITLES[column.name] ?? column.name.replaceAll('_', ' ');
      values.append(text(element('div', 'value', 'columnheader'), title));
    }
    const cells = element('div', 'cells', 'none');
    cells.append(...layout.problems.map(problem => heading(problem, nameOf)));
    this.#row.replaceChildren(rank, team, values, cells);
  }
}

function heading(problem, nameOf) {
  const label = problem.label ?? problem.id;
  const { solved = 0, tries = 0, pending = 0, first } = problem;
  const head = element('div', 'problem', 'columnheader');
  head.dataset.problem = problem.id;
  const balloon = text(element('span', 'balloon'), label);
  const colour = colourOf(problem.rgb);
  if (colour) {
    balloon.style.setProperty('--balloon', colour.css);
    balloon.style.setProperty('--balloon-ink', colour.light ? '#000' : '#fff');
  }
  const count = element('small');
  count.append(text(element('b'), String(solved)), `/${tries}`);
  head.append(balloon, count);
  if (pending) head.append(text(element('small'), `?${pending}`));
  const words = [
    `Problem ${label}${problem.name ? `, ${problem.name}` : ''}`,
    `solved ${solved}, tries ${tries}${pending ? `, pending ${pending}` : ''}`,
    first ? `first: ${nameOf(first)}` : '',
  ].filter(Boolean);
  head.title = words.join('\n');
  head.setAttribute('aria-label', words.join('; '));
  return head;
}

/**
 * A colour from outside: only plain hexadecimal passes.
 * @returns {{css: string, light: boolean}|null} light: black reads better on it than white
 */
export function colourOf(rgb) {
  const match = /^#?([0-9a-f]{6}|[0-9a-f]{3})(?:[0-9a-f]{1,2})?$/i.exec(rgb ?? '');
  if (!match) return null;
  const hex = match[1].length === 3 ? match[1].replace(/./g, '$&$&') : match[1];
  // WCAG 2 relative luminance; at 0.179 black and white contrast alike.
  const [red, green, blue] = [0, 2, 4].map(i => {
    const part = parseInt(hex.slice(i, i + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return { css: `#${hex}`, light: 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 };
}

function text(target, words) {
  target.textContent = words;
  return target;
}
