// Words, symbols and figures: one wording for every part of the page.

/** Word and symbol of each state; the symbol repeats what the colour says. */
export const STATES = {
  violated: { word: "Violated", symbol: "▲" },
  infeasible: { word: "Infeasible", symbol: "◆" },
  radio_stalled: { word: "Radio stalled", symbol: "■" },
  no_data: { word: "No data", symbol: "?" },
  at_risk: { word: "At risk", symbol: "△" },
  met: { word: "Met", symbol: "●" },
  idle: { word: "Idle", symbol: "○" },
  no_rule: { word: "No rule", symbol: "–" },
};

export const words = (name) => name.replaceAll("_", " ");

const FORMATS = [0, 1, 2].map((count) => new Intl.NumberFormat("en", { minimumFractionDigits: count, maximumFractionDigits: count }));
const digits = (value, count) => FORMATS[count].format(value);

export function duration(ms) {
  if (ms == null) return "–";
  if (ms >= 1000) return `${digits(ms / 1000, ms < 10_000 ? 2 : 1)} s`;
  return `${digits(ms, ms > 0 && ms < 10 ? 1 : 0)} ms`;
}

export function rate(kbps) {
  if (kbps == null) return "–";
  if (kbps >= 1e6) return `${digits(kbps / 1e6, 2)} Gbit/s`;
  if (kbps >= 1000) return `${digits(kbps / 1000, kbps < 100_000 ? 1 : 0)} Mbit/s`;
  return `${digits(kbps, 0)} kbit/s`;
}

export function bytes(count) {
  if (count == null) return "–";
  if (count >= 1e6) return `${digits(count / 1e6, 1)} MB`;
  return count >= 1000 ? `${digits(count / 1000, 0)} kB` : `${digits(count, 0)} B`;
}

/** A span of time in its two largest units. */
export function span(us) {
  const s = Math.max(0, Math.round(us / 1e6));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export const clock = (us) => new Date(us / 1000).toLocaleTimeString("en-GB");

export const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** An HTML element; a text child is set as text, never as markup. */
export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value != null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Sets the text only where it differs, so that a selection of the reader stays. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function badge(state) {
  // A controller of a newer version may know another.
  const { word, symbol } = STATES[state] ?? { word: words(state), symbol: "?" };
  return html("span", { class: `badge ${state}` }, html("span", { "aria-hidden": "true" }, symbol), ` ${word}`);
}
