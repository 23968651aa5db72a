/**
 * Timers by name: setting one again replaces it.
 * @module timers
 */
export class Timers {
  #env;
  #running = new Map();

  /** @param {{setTimeout: Function, clearTimeout: Function}} env */
  constructor(env) {
    this.#env = env;
  }

  /** Calls `action` after `delay` ms, unless it is set again or cleared before. */
  set(name, delay, action) {
    this.clear(name);
    const timer = this.#env.setTimeout(() => {
      this.#running.delete(name);
      action();
    }, delay);
    this.#running.set(name, timer);
  }

  /** Clears the named timers, or all of them. */
  clear(...names) {
    for (const name of names.length ? names : [...this.#running.keys()]) {
      this.#env.clearTimeout(this.#running.get(name));
      this.#running.delete(name);
    }
  }
}
