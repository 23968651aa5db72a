/**
 * Surroundings for the client: a clock that only moves when told, and a network that only answers when told.
 */

/** Lets everything that is already decided happen. */
export async function settle() {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

export class Surroundings {
  base = 'http://rankcast.test/contests/x';
  time = 1_000_000;
  chance = 0.5;
  sockets = [];
  sources = [];
  requests = [];
  /** What HTTP answers; replaced by tests. `null` is a broken network. */
  answer = () => null;
  #timers = new Map();
  #ids = 0;

  constructor() {
    const surroundings = this;
    this.WebSocket = class {
      constructor(url) {
        this.url = url;
        surroundings.sockets.push(this);
      }

      close() {
        this.closed = true;
      }

      say(message) {
        this.onmessage({ data: typeof message === 'string' ? message : JSON.stringify(message) });
      }

      end(code = 1006) {
        this.onclose({ code });
      }
    };
    this.EventSource = class extends EventTarget {
      constructor(url) {
        super();
        this.url = url;
        surroundings.sources.push(this);
      }

      close() {
        this.closed = true;
      }

      say(message) {
        this.dispatchEvent(new MessageEvent(message.type, { data: JSON.stringify(message) }));
      }

      fail() {
        this.onerror({});
      }
    };
  }

  fetch = async (url, init = {}) => {
    const request = { url, method: init.method ?? 'GET', headers: init.headers ?? {} };
    this.requests.push(request);
    const answer = await this.answer(request);
    if (!answer) throw new TypeError('network');
    const { status = 200, headers = {}, body = null } = answer;
    return {
      ok: status >= 200 && status < 300,
      status,
      headers: new Headers(headers),
      json: async () => JSON.parse(JSON.stringify(body)),
    };
  };

  now = () => this.time;
  random = () => this.chance;

  setTimeout = (action, delay) => {
    this.#timers.set(++this.#ids, { at: this.time + delay, action });
    return this.#ids;
  };

  clearTimeout = id => {
    this.#timers.delete(id);
  };

  /** Lets time pass; what falls due happens in its order, at its time. */
  async pass(ms) {
    const end = this.time + ms;
    await settle();
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end).sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (!due) break;
      this.#timers.delete(due[0]);
      this.time = Math.max(this.time, due[1].at);
      due[1].action();
      await settle();
    }
    this.time = end;
    await settle();
  }

  get socket() {
    return this.sockets.at(-1);
  }

  get source() {
    return this.sources.at(-1);
  }
}
