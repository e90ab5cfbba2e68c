// Other controllers and sites: asked through the controller of this page, who answers with the worst bearers.

import { get } from "./stream.js";
import { clock, html } from "./words.js";

const PERIOD_MS = 2000;

export class Fleet {
  /** `token()`: of the client; `wanted()`: text and states that bearers must have; `onChange()`: others answered. */
  constructor(token, wanted, onChange) {
    Object.assign(this, { token, wanted, onChange });
    this.clear();
  }

  clear() {
    Object.assign(this, { replicas: [], nodes: new Map(), rows: new Map() });
  }

  /** Asks for ever, once `begin` was called for the first time, and at once when called again. */
  async begin() {
    clearTimeout(this.timer);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const { text, states } = this.wanted();
    const query = new URLSearchParams([["find", text], ...states.map((state) => ["state", state])]);
    try {
      const view = await (await get(`fleet?${query}`, this.token())).json();
      if (turn === this.turn) this.take(view);
    } catch {
      // The stream says what is wrong with this controller.
    }
    if (turn === this.turn) this.timer = setTimeout(() => this.begin(), PERIOD_MS);
  }

  take(view) {
    const keyed = (rows) => new Map(rows.map((row) => [key(row), { ...row, key: key(row) }]));
    Object.assign(this, { replicas: view.replicas, nodes: keyed(view.nodes), rows: keyed(view.bearers) });
    this.onChange();
  }
}

/** Two sites may have nodes of one name. */
const key = (row) => (row.site ? `${row.site}: ${row.id}` : row.id);

/** Which controllers answer, those that do not first, with since when. */
export function drawReplicas(place, replicas) {
  const shown = JSON.stringify(replicas);
  if (place.dataset.shown === shown) return;
  place.dataset.shown = shown;
  const order = [...replicas].sort((one, other) => (other.problem != null) - (one.problem != null));
  place.replaceChildren(...order.map(({ site, name, problem, since_us }) => {
    const named = [site, name].filter(Boolean).join(" · ");
    return html("li", { class: problem == null ? "good" : "bad" }, html("span", { "aria-hidden": "true" }, problem == null ? "● " : "▲ "),
      problem == null ? `${named} answers` : `${named} does not answer since ${clock(since_us)}: ${problem}`);
  }));
}
