/**
 * Three ways to hear from a board, all with one face: a transport is opened with a URL and two listeners and can be closed.
 *
 * - `onmessage(message)` gets each parsed message.
 * - `onclose({code, retryAfter})` is called at most once, and never after `close()`; code is a WebSocket close code or an
 *   HTTP status, 0 where nobody said why.
 *
 * @module transport
 */

/** Time between two polls, in ms; spread by a fifth so that viewers do not march in step. */
const POLL_MS = 5_000;
const POLL_SPREAD = 0.2;
/** A request that takes longer is given up, in ms: a snapshot of 50,000 rows on a slow phone still fits. */
const REQUEST_MS = 30_000;

const MESSAGE_TYPES = ['snapshot', 'delta', 'problems', 'state', 'follow', 'reload', 'bye'];

/** A message that is not JSON is a broken stream, not something to skip: what it said would be missing for ever. */
function deliver(text, listeners, fail) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    fail();
    return;
  }
  listeners.onmessage(message);
}

/** An HTTP answer that was not the board. `status` 0: no answer. `retryAfter`: ms the server asked for, or 0. */
export class HttpFault extends Error {
  constructor(status, retryAfter = 0) {
    super(status ? `HTTP ${status}` : 'no answer');
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/**
 * One request with a time limit. Throws HttpFault for everything but 2xx and 304.
 *
 * @param {object} env the surroundings, see client.js
 * @param {string} url
 * @param {RequestInit} [init]
 * @returns {Promise<{status: number, etag: string|null, date: number, json: any}>} json is null without a body
 */
export async function request(env, url, init = {}) {
  const abort = new AbortController();
  const timer = env.setTimeout(() => abort.abort(), REQUEST_MS);
  try {
    // no-store: a cache between would answer with a board of the past, or turn our 304 into a 200.
    const response = await env.fetch(url, { cache: 'no-store', ...init, signal: abort.signal });
    const { status, headers } = response;
    if (!response.ok && status !== 304) throw new HttpFault(status, 1000 * (Number(headers.get('retry-after')) || 0));
    const body = status !== 304 && init.method !== 'HEAD';
    return {
      status,
      etag: headers.get('etag'),
      date: Date.parse(headers.get('date') ?? ''),
      json: body ? await response.json() : null,
    };
  } catch (error) {
    throw error instanceof HttpFault ? error : new HttpFault(0);
  } finally {
    env.clearTimeout(timer);
  }
}

/** WebSocket at the live URL. */
export function openWebSocket(env, { live }, listeners) {
  const url = new URL(live, env.base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new env.WebSocket(url.href);
  let open = true;
  const closed = code => {
    if (!open) return;
    open = false;
    socket.close();
    listeners.onclose({ code, retryAfter: 0 });
  };
  socket.onmessage = event => open && deliver(event.data, listeners, () => closed(0));
  socket.onclose = event => closed(event.code);
  return {
    close() {
      open = false;
      socket.close();
    },
  };
}

/** Server-sent events at the same live URL. */
export function openEventSource(env, { live }, listeners) {
  const source = new env.EventSource(new URL(live, env.base).href);
  let open = true;
  const closed = code => {
    if (!open) return;
    open = false;
    source.close();
    listeners.onclose({ code, retryAfter: 0 });
  };
  for (const type of MESSAGE_TYPES) {
    source.addEventListener(type, event => open && deliver(event.data, listeners, () => closed(0)));
  }
  // EventSource would come back by itself, without jitter and without our position; the client does it instead.
  source.onerror = () => closed(0);
  return {
    close() {
      open = false;
      source.close();
    },
  };
}

/** Polls the board; unchanged boards cost a 304. */
export function openPolling(env, { board, etag }, listeners) {
  let open = true;
  let known = etag;
  let timer = 0;
  const poll = async () => {
    try {
      const answer = await request(env, board, known ? { headers: { 'If-None-Match': known } } : {});
      if (!open) return;
      known = answer.etag ?? known;
      listeners.onmessage(answer.json ?? { type: 'unchanged' });
      if (open) timer = env.setTimeout(poll, POLL_MS * (1 + POLL_SPREAD * (2 * env.random() - 1)));
    } catch (fault) {
      if (!open) return;
      open = false;
      listeners.onclose({ code: fault.status, retryAfter: fault.retryAfter });
    }
  };
  poll();
  return {
    close() {
      open = false;
      env.clearTimeout(timer);
    },
  };
}
