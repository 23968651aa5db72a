/**
 * The rows in sight. A board may have thousands; only those that can be seen are elements, each placed by a transform, so
 * that a row which changes places glides there.
 * @module rows
 */
import { RowView } from './row.js';

/** Elements at most, in sight or just beside it, unless the screen itself holds more rows. */
const MAX_ELEMENTS = 60;
/** Rows kept ready beyond each edge, so that scrolling shows no gap. */
const MARGIN = 8;
/** As long as the transition in the style sheet, in ms, and a little. */
const GLIDE_MS = 700;
/** After this long without a change, in ms, the elements are put into reading order, which would cut a glide short. */
const SETTLE_MS = 3_500;

export class Rows {
  #scroller;
  #canvas;
  #head;
  /** @type {Map<string, RowView>} */
  #views = new Map();
  #places = [];
  #layout = null;
  /** Index of every row, now and before the last update. */
  #index = new Map();
  #indexBefore = new Map();
  #height = 0;
  #marked = null;
  #settle = 0;

  constructor(scroller, canvas, head) {
    this.#scroller = scroller;
    this.#canvas = canvas;
    this.#head = head;
    scroller.addEventListener('scroll', () => this.#render(false), { passive: true });
    new ResizeObserver(() => this.measure()).observe(scroller);
  }

  /** Takes a new order of rows. */
  update(places, layout, glide) {
    this.#indexBefore = this.#index;
    this.#places = places;
    this.#layout = layout;
    this.#index = new Map(places.map(({ row }, index) => [row.id, index]));
    if (!this.#height) this.measure();
    this.#canvas.style.height = `${places.length * this.#height}px`;
    this.#render(glide);
  }

  /** Reads the height of a row again: it follows the screen and the layout. */
  measure() {
    const probe = document.createElement('div');
    probe.style.height = 'var(--row)';
    this.#canvas.append(probe);
    // Whole pixels, or the rules between rows come and go with the fraction.
    const height = Math.round(probe.getBoundingClientRect().height);
    probe.remove();
    if (height !== this.#height) {
      this.#height = height;
      this.#canvas.style.setProperty('--height', `${height}px`);
      this.#canvas.style.height = `${this.#places.length * height}px`;
      this.#canvas.classList.add('still');
      this.#place();
      requestAnimationFrame(() => this.#canvas.classList.remove('still'));
    }
    this.#render(false);
  }

  /** Marks one row, wherever it goes, and brings it into sight. */
  mark(id) {
    this.#views.get(this.#marked)?.el.classList.remove('marked');
    this.#marked = id;
    this.#views.get(id)?.el.classList.add('marked');
    const index = this.#index.get(id);
    if (index === undefined) return;
    const middle = (this.#scroller.clientHeight - this.#head.offsetHeight - this.#height) / 2;
    this.#scroller.scrollTop = index * this.#height - middle;
    this.#render(false);
  }

  #window() {
    const height = this.#height || 1;
    const top = this.#scroller.scrollTop / height;
    const count = Math.ceil((this.#scroller.clientHeight - this.#head.offsetHeight) / height) + 1;
    const margin = Math.max(1, Math.min(MARGIN, Math.floor((MAX_ELEMENTS - count) / 2)));
    return {
      first: Math.max(0, Math.floor(top) - margin),
      last: Math.min(this.#places.length, Math.floor(top) + count + margin),
    };
  }

  #render(glide) {
    if (!this.#layout) return;
    const { first, last } = this.#window();
    const clamp = index => Math.max(first - 1, Math.min(last, index));
    const arrivals = [];
    const wanted = new Set();
    for (let index = first; index < last; index++) {
      const place = this.#places[index];
      wanted.add(place.row.id);
      let view = this.#views.get(place.row.id);
      if (!view) {
        view = this.#enter(place.row.id);
        const before = this.#indexBefore.get(place.row.id);
        // It was out of sight: it comes in from the edge it was behind.
        if (glide && before !== undefined && before !== index) {
          this.#move(view, clamp(before));
          arrivals.push(view);
        }
      }
      clearTimeout(view.leaving);
      view.leaving = 0;
      view.update(place, this.#layout, glide);
      this.#frame(view, index);
    }
    // The starting places have to be computed once, or there is nothing to glide from.
    if (arrivals.length) this.#canvas.getBoundingClientRect();
    for (const id of wanted) {
      const view = this.#views.get(id);
      const index = this.#index.get(id);
      if (glide && view.index > index) this.#rise(view);
      this.#move(view, index);
    }
    for (const [id, view] of this.#views) {
      if (!wanted.has(id)) this.#leave(id, view, glide ? this.#index.get(id) : undefined, clamp);
    }
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => this.#order(), SETTLE_MS);
  }

  #enter(id) {
    const view = new RowView(id);
    view.el.classList.toggle('marked', id === this.#marked);
    this.#views.set(id, view);
    this.#canvas.append(view.el);
    return view;
  }

  #leave(id, view, index, clamp) {
    if (index !== undefined && this.#views.size <= MAX_ELEMENTS) {
      this.#move(view, clamp(index));
      view.leaving ||= setTimeout(() => this.#remove(id, view), GLIDE_MS);
    } else {
      this.#remove(id, view);
    }
  }

  #remove(id, view) {
    clearTimeout(view.leaving);
    view.el.remove();
    if (this.#views.get(id) === view) this.#views.delete(id);
  }

  /** What depends on the place and not on the row. */
  #frame(view, index) {
    view.el.setAttribute('aria-rowindex', index + 2);
    const { sections } = this.#layout;
    const above = this.#places[index - 1]?.row;
    const row = this.#places[index].row;
    view.el.classList.toggle('section', sections.some(i => above && above.values[i] !== row.values[i]));
  }

  #move(view, index) {
    if (view.index === index) return;
    view.index = index;
    view.el.style.transform = `translateY(${index * this.#height}px)`;
  }

  #place() {
    for (const view of this.#views.values()) view.el.style.transform = `translateY(${view.index * this.#height}px)`;
  }

  /** A row that climbs passes over those it overtakes. */
  #rise(view) {
    view.el.classList.add('rising');
    clearTimeout(view.rising);
    view.rising = setTimeout(() => view.el.classList.remove('rising'), GLIDE_MS);
  }

  /** Elements in the order of the rows: what is read aloud follows the document, not the transforms. */
  #order() {
    const views = [...this.#views.values()].sort((a, b) => a.index - b.index);
    views.forEach(({ el }, i) => {
      if (this.#canvas.children[i] !== el) this.#canvas.insertBefore(el, this.#canvas.children[i] ?? null);
    });
  }
}
