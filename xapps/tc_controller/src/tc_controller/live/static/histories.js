// The samples of the bearers in view, loaded when a bearer is first shown and then continued.

import { get } from "./stream.js";

const MOST = 200;
const AT_ONCE = 64;

export class Histories {
  /** `token()`: of the client; `onLoad()`: some arrived. */
  constructor(token, onLoad) {
    this.token = token;
    this.onLoad = onLoad;
    this.known = new Map();
    this.asked = new Set();
  }

  /** Times in µs and samples by quantity of a bearer, or undefined. */
  of(id) {
    return this.known.get(id);
  }

  clear() {
    this.known.clear();
    this.asked.clear();
  }

  forget(id) {
    this.known.delete(id);
  }

  /** A second passed. */
  add(now, rows, seconds) {
    for (const [id, history] of this.known) {
      const row = rows.get(id);
      if (!row) this.known.delete(id);
      if (!row || !(now > history.times.at(-1))) continue;
      history.times.push(now);
      history.samples.forEach((values, quantity) => values.push(row.values[quantity]));
      if (history.times.length > seconds) for (const values of [history.times, ...history.samples]) values.shift();
    }
  }

  /** Loads those of these bearers that are not known; forgets others where there are too many. */
  async load(ids) {
    const missing = [...new Set(ids)].filter((id) => !this.known.has(id) && !this.asked.has(id)).slice(0, AT_ONCE);
    for (const id of this.known.keys()) {
      if (this.known.size <= MOST) break;
      if (!ids.includes(id)) this.known.delete(id);
    }
    if (missing.length === 0) return;
    missing.forEach((id) => this.asked.add(id));
    try {
      const query = missing.map((id) => `bearer=${encodeURIComponent(id)}`).join("&");
      const { at_us: times, series } = await (await get(`history?${query}`, this.token())).json();
      for (const [id, samples] of Object.entries(series)) this.known.set(id, { times: [...times], samples });
      this.onLoad();
    } catch {
      // Asked for again with the next second.
    } finally {
      missing.forEach((id) => this.asked.delete(id));
    }
  }
}
