// The list of bearers: a grid of which only the rows in view exist.

import { STATES, badge, bytes, duration, html, rate, setText, svg } from "./words.js";

const SPARE = 6;
const SPARK = { width: 120, height: 30, bound: 18 };
const COLUMNS = ["State", "Bearer", "Sparse", "Last minutes", "Bulk, inh.", "Rate, queued", "Slice, pipeline", "Site, controller"];

export class Grid {
  /** `onSelect(id)`: a row was chosen; `historyOf(id)`: its samples, or undefined while they are loaded. */
  constructor(place, onSelect, historyOf) {
    this.onSelect = onSelect;
    this.historyOf = historyOf;
    this.rows = [];
    this.selected = null;
    this.pool = new Map();
    this.canvas = html("div", { role: "rowgroup", class: "canvas" });
    this.head = html("div", { role: "rowgroup", class: "columns" },
      html("div", { role: "row", "aria-rowindex": 1 }, ...COLUMNS.map((name) => html("span", { role: "columnheader" }, name))));
    this.grid = html("div", { role: "grid", tabindex: 0, "aria-label": "Bearers, worst first", "aria-readonly": "true" }, this.head, this.canvas);
    place.append(this.grid);
    this.grid.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.measure()).observe(this.grid);
    this.canvas.addEventListener("click", (event) => {
      const row = event.target.closest("[data-id]");
      if (row) this.onSelect(row.dataset.id, true);
    });
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.measure();
  }

  measure() {
    this.height = parseFloat(getComputedStyle(this.grid).getPropertyValue("--row")) || 44;
    this.draw();
  }

  /** The rows in their order. */
  show(rows) {
    this.rows = rows;
    this.grid.setAttribute("aria-rowcount", rows.length + 1);
    this.draw();
  }

  select(id) {
    this.selected = id;
    this.draw();
  }

  /** Ids of the rows in view. */
  get visible() {
    return [...this.pool.keys()];
  }

  /** Height of the rows in view. */
  get room() {
    return this.grid.clientHeight - this.head.offsetHeight;
  }

  key(event) {
    const at = this.rows.findIndex((row) => row.key === this.selected);
    const page = Math.max(1, Math.floor(this.room / this.height) - 1);
    const last = this.rows.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last }[event.key];
    if (event.key === "Enter" && at >= 0) this.onSelect(this.selected, true);
    if (to === undefined || last < 0) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(last, to));
    this.onSelect(this.rows[index].key, false);
    this.reveal(index);
  }

  reveal(index) {
    const top = index * this.height;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    const over = top + this.height - this.grid.scrollTop - this.room;
    if (over > 0) this.grid.scrollTop += over;
    this.draw();
  }

  draw() {
    this.canvas.style.height = `${this.rows.length * this.height}px`;
    const first = Math.max(0, Math.floor(this.grid.scrollTop / this.height) - SPARE);
    const count = Math.ceil(this.room / this.height) + 2 * SPARE;
    const shown = this.rows.slice(first, first + count);
    const wanted = new Set(shown.map((row) => row.key));
    const spare = [];
    for (const [id, cells] of this.pool) {
      if (wanted.has(id)) continue;
      this.pool.delete(id);
      spare.push(cells);
    }
    shown.forEach((row, index) => {
      let cells = this.pool.get(row.key);
      if (!cells) {
        cells = spare.pop() ?? newRow();
        this.pool.set(row.key, cells);
        if (!cells.element.isConnected) this.canvas.append(cells.element);
      }
      drawRow(cells, row, first + index, this.height, row.key === this.selected, this.historyOf(row.key));
    });
    for (const cells of spare) cells.element.remove();
    const active = this.pool.get(this.selected);
    if (active) this.grid.setAttribute("aria-activedescendant", active.element.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }
}

let made = 0;

function newRow() {
  const cell = (name, ...children) => html("span", { role: "gridcell", class: name }, ...children);
  const state = cell("state");
  const name = html("b");
  const node = html("small");
  const sojourn = html("b");
  const bound = html("small");
  const spark = newSpark();
  const bulk = html("span", { title: "Mean delay of the packets of greedy flows" });
  const inherited = html("small", { title: "Mean delay of what waited when the pipeline took effect" });
  const rates = html("span");
  const queue = html("small");
  const pipeline = html("span");
  const revision = html("small");
  const site = html("span");
  const replica = html("small");
  const element = html("div", { role: "row", id: `row-${made++}` },
    state, cell("name", name, " ", node), cell("sojourn", sojourn, " ", bound), cell("spark", spark.element),
    cell("bulk", bulk, " ", inherited), cell("rate", rates, " ", queue), cell("pipeline", pipeline, " ", revision), cell("place", site, " ", replica));
  return { element, state, name, node, sojourn, bound, spark, bulk, inherited, queue, rates, pipeline, revision, site, replica, drawn: null, curve: null };
}

function drawRow(cells, row, index, height, selected, history) {
  const { element } = cells;
  element.style.transform = `translateY(${index * height}px)`;
  element.dataset.id = row.key;
  element.setAttribute("aria-rowindex", index + 2);
  element.setAttribute("aria-selected", selected);
  if (cells.drawn !== row.state) {
    cells.drawn = row.state;
    cells.state.replaceChildren(badge(row.state));
    cells.spark.element.dataset.state = row.state;
  }
  cells.state.title = row.reason ?? "";
  setText(cells.name, `UE ${row.rnti} DRB ${row.drb}`);
  setText(cells.node, row.node);
  setText(cells.sojourn, duration(row.values[0]));
  setText(cells.bound, row.bound_ms == null ? "" : `of ${duration(row.bound_ms)}`);
  cells.sojourn.classList.toggle("over", row.bound_ms != null && row.values[0] > row.bound_ms);
  setText(cells.bulk, duration(row.values[3]));
  setText(cells.inherited, row.values[4] == null ? "" : `inh. ${duration(row.values[4])}`);
  setText(cells.queue, bytes(row.values[2]));
  setText(cells.rates, rate(row.values[1]));
  setText(cells.pipeline, [row.slice, row.pipeline ?? "–"].filter(Boolean).join(", "));
  setText(cells.site, row.site || "–");
  setText(cells.replica, row.replica ?? "");
  setText(cells.revision, row.stale ?? (row.revision == null ? "" : `revision ${row.revision}`));
  cells.revision.classList.toggle("stale", row.stale != null);
  const curve = `${row.key} ${row.bound_ms} ${history?.times.at(-1)}`;
  if (cells.curve === curve) return;
  cells.curve = curve;
  drawSpark(cells.spark, history?.samples[0] ?? [], row.bound_ms);
}

// A bearer's curve above and below its bound, which is at the same height in every row: above it the
// path of the upper, clipped picture shows, below it that of the lower.
function newSpark() {
  const above = svg("path", { class: "above" });
  const below = svg("path", { class: "below" });
  const { width, height, bound } = SPARK;
  const element = svg("svg", { width, height, "aria-hidden": "true", focusable: "false" },
    svg("svg", { width, height: bound, overflow: "hidden" }, above),
    svg("svg", { y: bound, width, height: height - bound, overflow: "hidden" }, svg("g", { transform: `translate(0 -${bound})` }, below)),
    svg("line", { x2: width, y1: bound, y2: bound, class: "bound" }));
  return { element, above, below };
}

function drawSpark(spark, sojourn, bound) {
  const { width, height, bound: middle } = SPARK;
  let path = "";
  if (bound != null && sojourn.length) {
    const step = width / Math.max(59, sojourn.length - 1);
    const begin = width - (sojourn.length - 1) * step;
    let pen = "M";
    for (let i = 0; i < sojourn.length; i++) {
      if (sojourn[i] == null) {
        pen = "M";
        continue;
      }
      const octaves = Math.log2(Math.max(sojourn[i], 0.01) / bound);
      const y = octaves > 0 ? middle - (octaves / 8) * (middle - 1) : middle + (-octaves / 5) * (height - 1 - middle);
      path += `${pen}${(begin + i * step).toFixed(1)} ${Math.max(1, Math.min(height - 1, y)).toFixed(1)}`;
      pen = "L";
    }
  }
  spark.above.setAttribute("d", path);
  spark.below.setAttribute("d", path);
}

/** The states present with their numbers, as buttons that filter; `chosen`: a set of states. */
export function drawFilters(place, counts, chosen, onToggle) {
  for (const state of Object.keys(STATES)) {
    let button = place.querySelector(`[data-state="${state}"]`);
    if (!button) {
      button = html("button", { type: "button", "data-state": state, class: "filter" }, badge(state), html("b"));
      button.addEventListener("click", () => onToggle(state));
      place.append(button);
    }
    const count = counts[state] ?? 0;
    button.hidden = count === 0 && !chosen.has(state);
    button.setAttribute("aria-pressed", chosen.has(state));
    setText(button.lastElementChild, String(count));
  }
}
