/**
 * The element of one row.
 * @module row
 */
import { faceOf } from './cell.js';
import { formatValue } from './format.js';

/** How long a change stays lit, in ms: long enough to be found by an eye that was elsewhere. */
const GLOW_MS = 2_600;
const CELL_GLOW_MS = 6_000;

/** Makes an element; text is only ever set as text. */
export function element(tag, className, role) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (role) made.setAttribute('role', role);
  return made;
}

/** Sets text only where it differs: an equal assignment still costs a layout. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Characters that take no ink: controls, formats, spaces and marks, and the letters and signs that are drawn as nothing. */
const INKLESS = /[\p{C}\p{Z}\p{M}\u115f\u1160\u2800\u3164\uffa0]/gu;

/** What a row is called: a name that nobody could see gives way to the id. */
export const nameOf = ({ id, name }) => (name?.replace(INKLESS, '') ? name : id);

export class RowView {
  /** Where it stands: an index of the displayed order. */
  index = -1;
  /** Set while it is on its way out: the timer that removes it. */
  leaving = 0;

  #row = null;
  #layout = null;
  #cells = [];
  #values = [];

  constructor(id) {
    this.el = element('div', 'row', 'row');
    this.el.dataset.id = id;
    this.rank = this.el.appendChild(element('div', 'rank', 'cell'));
    const team = this.el.appendChild(element('div', 'team', 'rowheader'));
    this.name = team.appendChild(element('bdi', 'name'));
    this.organization = team.appendChild(element('bdi', 'organization'));
    this.values = this.el.appendChild(element('div', 'values', 'none'));
    this.cells = this.el.appendChild(element('div', 'cells', 'none'));
    for (const text of [this.name, this.organization]) text.dir = 'auto';
  }

  /**
   * @param {{row: object, rank: number|null}} place
   * @param {object} layout see page.js; a new object when columns or problems changed
   * @param {boolean} glow light up what changed
   */
  update({ row, rank }, layout, glow) {
    if (layout !== this.#layout) this.#arrange(layout);
    this.#showRank(rank);
    if (row === this.#row && layout === this.#layout) return;
    const before = layout === this.#layout ? this.#row : null;
    this.#layout = layout;
    this.#row = row;

    setText(this.name, nameOf(row));
    setText(this.organization, row.organization ?? '');
    this.name.title = nameOf(row);
    this.organization.hidden = !row.organization;
    this.el.classList.toggle('unofficial', row.official === false);
    layout.values.forEach(({ index, column }, i) => setText(this.#values[i], formatValue(row.values[index], column)));
    layout.problems.forEach((problem, i) => {
      const cell = row.cells?.[problem.id];
      if (before && same(cell, before.cells?.[problem.id])) return;
      this.#showCell(this.#cells[i], problem, faceOf(cell, problem, layout.units));
      if (before && glow) lightCell(this.#cells[i].el);
    });
    if (before && glow) this.#light();
  }

  #showRank(rank) {
    const text = rank === null ? '' : String(rank);
    if (this.rank.dataset.rank === text) return;
    this.rank.dataset.rank = text;
    this.rank.textContent = text || '–';
    this.rank.setAttribute('aria-label', text ? `rank ${text}` : 'not ranked');
    this.el.classList.toggle('leading', rank === 1);
  }

  #arrange({ values, problems }) {
    this.#values = values.map((_, i) => element('div', i ? 'value' : 'value primary', 'cell'));
    this.values.replaceChildren(...this.#values);
    this.#cells = problems.map(problem => {
      const el = element('div', 'cell', 'cell');
      el.dataset.problem = problem.id;
      const mark = el.appendChild(element('span', 'mark'));
      const detail = el.appendChild(element('small'));
      return { el, mark, detail };
    });
    this.cells.replaceChildren(...this.#cells.map(cell => cell.el));
    this.#row = null;
  }

  #showCell({ el, mark, detail }, problem, face) {
    el.dataset.state = face.state;
    el.classList.toggle('first', face.first);
    el.classList.toggle('part', face.share !== null);
    if (face.share !== null) el.style.setProperty('--share', `${Math.round(100 * face.share)}%`);
    el.setAttribute('aria-label', `${problem.label ?? problem.id}: ${face.label}`);
    setText(mark, face.mark);
    setText(detail, face.detail);
  }

  #light() {
    const lit = { backgroundColor: 'var(--glow)' };
    // The last frame is the row as it is: marked, or not.
    this.el.animate([lit, { ...lit, offset: 0.4 }, {}], GLOW_MS);
    this.el.animate({ opacity: [1, 1, 0] }, { duration: GLOW_MS, pseudoElement: '::after' });
  }
}

function lightCell(el) {
  const ring = '0 0 0 3px var(--accent)';
  el.animate({ boxShadow: [ring, ring, '0 0 0 3px transparent'] }, CELL_GLOW_MS);
}

const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);
