/**
 * How long to wait before coming back: exponential, with full jitter, never before the time the server named.
 * @module backoff
 */

/** The wait is random up to a ceiling that doubles from the first to the last of these, in ms. */
export const FIRST_MS = 300;
export const CAP_MS = 30_000;
/** Where there are too many of us and the server names no time: at least this long, in ms, and a ceiling of later attempts. */
const CROWDED_MS = 1_000;
const CROWDED_ATTEMPT = 3;
/** Close codes and HTTP statuses that ask for room: too slow, too many, restarting. */
const CROWDED = new Set([4408, 4429, 1012, 429, 503]);

/**
 * A random wait of up to the ceiling of an attempt.
 *
 * @param {number} attempt counted from 0
 * @param {() => number} random
 * @returns {number} ms
 */
export function jitter(attempt, random) {
  return random() * Math.min(CAP_MS, FIRST_MS * 2 ** attempt);
}

export class Backoff {
  /** Failures since the last good connection. */
  failures = 0;
  #notBefore = 0;

  /** The server wishes not to see us before then, ms of the local clock. */
  notBefore(time) {
    this.#notBefore = Math.max(this.#notBefore, time);
  }

  /** How much of the server's wish is left, in ms. */
  owed(now) {
    return Math.max(0, this.#notBefore - now);
  }

  /**
   * The wait after a failure.
   *
   * @param {{code: number, retryAfter: number}} close
   * @param {number} now
   * @param {() => number} random
   * @returns {number} ms
   */
  next({ code, retryAfter }, now, random) {
    if (CROWDED.has(code)) {
      this.failures = Math.max(this.failures, CROWDED_ATTEMPT);
      this.notBefore(now + (retryAfter || CROWDED_MS));
    }
    return this.owed(now) + jitter(this.failures++, random);
  }
}
