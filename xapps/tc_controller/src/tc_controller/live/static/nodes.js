// Controller, conditions of readiness and nodes.

import { clock, html, plural, setText, span, STATES } from "./words.js";

const STALE_US = 1_500_000;
const MOST = 50;

export function drawController(place, controller) {
  if (!controller) return;
  const shown = JSON.stringify(controller);
  if (place.dataset.shown === shown) return;
  place.dataset.shown = shown;
  const refused = controller.refused_policies;
  place.replaceChildren(
    html("span", { title: `Rules: ${controller.rules.join(", ")}` }, controller.identity), " ",
    html("span", { class: `mode ${controller.acts ? "good" : "warn"}` }, controller.mode),
    refused ? html("span", { class: "mode bad" }, `${plural(refused, "change")} of the policy refused since the start`) : "",
  );
}

/** Those in order as words, those that do not hold or are degraded with their detail. */
export function drawConditions(place, conditions) {
  const items = Object.entries(conditions).map(([name, { ok, degraded, detail }]) => ({ name, ok: ok && !degraded, detail }));
  const shown = JSON.stringify(items.map(({ name, ok, detail }) => [name, ok, ok ? "" : detail]));
  if (place.dataset.shown === shown) return;
  place.dataset.shown = shown;
  place.replaceChildren(...items.map(({ name, ok, detail }) => html("li", { class: ok ? "good" : "bad" },
    html("span", { "aria-hidden": "true" }, ok ? "● " : "▲ "), ok ? `${name} ok` : `${name}: ${detail}`)));
}

/** Nodes with faults first, then those with most violations. */
export function drawNodes(place, nodes, now) {
  const faults = (node) => node.faults.length + (node.gone_since_us == null ? 0 : 1);
  const violated = (node) => (node.states.violated ?? 0) + (node.states.infeasible ?? 0);
  const order = [...nodes].sort((one, other) => faults(other) - faults(one) || violated(other) - violated(one) || (one.id < other.id ? -1 : 1));
  const hidden = order.splice(MOST).length;
  const parts = new Map([...place.children].map((each) => [each.dataset.id, each]));
  order.forEach((node, index) => {
    const key = `${node.site} ${node.id}`;
    let item = parts.get(key);
    parts.delete(key);
    item ??= html("li", { "data-id": key }, html("b"), html("span", { class: "role" }), html("span", { class: "note" }), html("div"));
    if (place.children[index] !== item) place.insertBefore(item, place.children[index] ?? null);
    drawNode(item, node, now);
  });
  for (const item of parts.values()) item.remove();
  if (hidden) place.append(html("li", { class: "note" }, `${plural(hidden, "more node")}: find a node's bearers by its name.`));
  if (nodes.length === 0) place.replaceChildren(html("li", { class: "empty" }, "No node is connected."));
}

function drawNode(item, node, now) {
  const [name, role, note, faults] = item.children;
  setText(name, node.id);
  setText(role, [node.role, node.site, document.body.classList.contains("fleet") ? node.replica : ""].filter(Boolean).join(" · "));
  role.title = node.meaning;
  setText(note, summary(node, now));
  const gone = node.gone_since_us == null ? [] : [{ sentence: "the E2 gateway has no connection to the node", reason: node.meaning, since_us: node.gone_since_us }];
  const shown = JSON.stringify([gone, node.faults, node.trials]);
  if (faults.dataset.shown === shown) return;
  faults.dataset.shown = shown;
  item.classList.toggle("faulty", gone.length + node.faults.length > 0);
  faults.replaceChildren(...[...gone, ...node.faults].map((fault) => html("div", { class: "fault" },
    html("p", {}, html("b", {}, `▲ ${fault.sentence} since ${clock(fault.since_us)}`), fault.bearers ? `, ${plural(fault.bearers, "bearer")}` : "", `: ${fault.reason}`),
    fault.advice ? html("p", {}, html("b", {}, "First step: "), fault.advice) : null)),
    ...node.trials.map((trial) => html("p", { class: "note" }, trial)));
}

function summary(node, now) {
  if (node.gone_since_us != null) return "";
  const states = Object.keys(STATES).filter((state) => node.states[state]).map((state) => `${node.states[state]} ${STATES[state].word.toLowerCase()}`);
  const age = node.reported_at_us == null ? "no RLC report yet" : now - node.reported_at_us > STALE_US ? `last RLC report ${span(now - node.reported_at_us)} ago` : "reports are fresh";
  return [plural(node.bearers, "bearer") + (states.length ? ` (${states.join(", ")})` : ""), age, node.pipelines].join(" · ");
}
