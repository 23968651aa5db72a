/**
 * Finds a team by part of its name, organization or id, and marks it.
 * @module find
 */
import { setText } from './row.js';

const fold = text => (text ?? '').normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

export class Find {
  #input;
  #found;
  #places;
  #mark;
  #term = '';
  #next = 0;

  /**
   * @param {HTMLFormElement} form
   * @param {HTMLOutputElement} found
   * @param {() => {row: object}[]} places the displayed order
   * @param {(id: string|null) => void} mark
   */
  constructor(form, found, places, mark) {
    this.#input = form.elements.team;
    this.#found = found;
    this.#places = places;
    this.#mark = mark;
    // Both at once: "search" also fires for the small cross, and form-action 'none' forbids a real submission.
    form.addEventListener('submit', event => {
      event.preventDefault();
      this.#go(this.#next + 1);
    });
    this.#input.addEventListener('input', () => this.#go(0));
  }

  #go(next) {
    const term = fold(this.#input.value.trim());
    this.#next = term === this.#term ? next : 0;
    this.#term = term;
    if (!term) {
      setText(this.#found, '');
      this.#mark(null);
      return;
    }
    const hits = this.#places().filter(({ row }) =>
      [row.name, row.organization, row.id].some(text => fold(text).includes(term)));
    this.#next %= Math.max(1, hits.length);
    setText(this.#found, hits.length ? `${this.#next + 1} of ${hits.length}` : 'none');
    this.#mark(hits[this.#next]?.row.id ?? null);
  }
}
