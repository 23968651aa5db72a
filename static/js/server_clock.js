/**
 * How far the server's clock is ahead of ours.
 * @module server_clock
 */

/** A sample further than this from the estimate, in ms, means that a clock was set, not that the network was slow. */
const STEP_MS = 2_000;
/** Dates in HTTP headers are cut to the second: on average half of it is lost. */
const HALF_SECOND_MS = 500;

export class ServerClock {
  /** Server minus local, in ms. */
  offset = 0;
  #exact = false;

  /** @param {number} difference server time minus local time when a message came, in ms; NaN is no sample */
  sample(difference) {
    if (!Number.isFinite(difference)) return;
    // Every sample is too low by its time on the way, so the highest is the best.
    if (!this.#exact || difference > this.offset || this.offset - difference > STEP_MS) this.offset = difference;
    this.#exact = true;
  }

  /** The same from the Date header of an answer, used until a message tells better. */
  rough(difference) {
    if (!this.#exact && Number.isFinite(difference)) this.offset = difference + HALF_SECOND_MS;
  }
}
