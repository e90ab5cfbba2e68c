// The live page: follows the stream, keeps the newest state, draws it.

import { Detail, drawDecisions } from "./detail.js";
import { Fleet, drawReplicas } from "./fleet.js";
import { Grid, drawFilters } from "./grid.js";
import { Histories } from "./histories.js";
import { drawConditions, drawController, drawNodes } from "./nodes.js";
import { follow, get } from "./stream.js";
import { clock, plural, setText, span, STATES } from "./words.js";

const SHOWN_DECISIONS = 50;
const ANNOUNCE_MS = 10_000;
const at = (id) => document.getElementById(id);

const model = { now: 0, seconds: 300, site: "", fleet: false, controller: null, conditions: {}, nodes: new Map(), columns: new Map(), rows: new Map(), decisions: new Map() };
const chosen = new Set();
let token = null;
let lostAt = null;
let selected = linked();
let detail = null;
let announced = { text: "", at: 0 };

const histories = new Histories(() => token, () => draw());
const grid = new Grid(at("grid"), select, (id) => histories.of(id));
const panel = new Detail(at("bearer"));
const fleet = new Fleet(() => token, () => ({ text: searched(), states: [...chosen] }), () => draw());

follow("events", {
  open(accepted) {
    token = accepted;
    lostAt = null;
    histories.clear();
    at("access").hidden = true;
    document.body.classList.remove("lost");
  },
  event(name, document) {
    if (name === "whole") {
      take(document);
      if (model.fleet) fleet.begin();
    }
    else change(document);
    refreshDetail();
    draw();
  },
  lost(reason) {
    lostAt ??= Date.now() * 1000;
    document.body.classList.add("lost");
    showConnection(reason);
  },
  refused: askForToken,
});
setInterval(() => lostAt && showConnection(), 1000);

// -------------------------------------------------------------------- the state

function take(whole) {
  Object.assign(model, { seconds: whole.seconds, site: whole.site, fleet: whole.fleet });
  document.body.classList.toggle("fleet", model.fleet);
  for (const part of [model.nodes, model.columns, model.rows, model.decisions]) part.clear();
  change({ ...whole, values: [], gone: [], gone_nodes: [] });
}

function change(update) {
  model.now = update.now_us;
  model.controller = update.controller ?? model.controller;
  model.conditions = update.conditions ?? model.conditions;
  for (const id of update.gone_nodes) model.nodes.delete(id);
  for (const node of update.nodes) model.nodes.set(node.id, { ...model.nodes.get(node.id), ...node });
  for (const column of update.gone) forget(column);
  for (const row of update.bearers) {
    if (row.id === undefined) Object.assign(model.columns.get(row.column), row);
    else {
      forget(row.column);
      model.columns.set(row.column, { values: Array(5).fill(null), ...row });
      model.rows.set(row.id, model.columns.get(row.column));
    }
  }
  for (const [column, ...values] of update.values) model.columns.get(column).values = values;
  for (const decision of update.decisions) {
    model.decisions.delete(decision.id);
    model.decisions.set(decision.id, decision);
  }
  while (model.decisions.size > SHOWN_DECISIONS) model.decisions.delete(model.decisions.keys().next().value);
  histories.add(model.now, model.rows, model.seconds);
}

function forget(column) {
  const row = model.columns.get(column);
  if (!row) return;
  model.columns.delete(column);
  model.rows.delete(row.id);
  histories.forget(row.id);
}

// --------------------------------------------------------------------- drawing

function draw() {
  drawController(at("controller"), model.controller);
  drawConditions(at("conditions"), model.conditions);
  drawReplicas(at("replicas"), fleet.replicas);
  const nodes = allNodes();
  drawNodes(at("nodes"), nodes, model.now);
  const counts = {};
  for (const { states } of nodes) for (const state of Object.keys(states)) counts[state] = (counts[state] ?? 0) + states[state];
  drawFilters(at("states"), counts, chosen, toggle);
  const rows = listed();
  selected ??= rows[0]?.key ?? null;
  grid.show(rows);
  grid.select(selected);
  drawCount(rows.length, nodes);
  drawSelected();
  const newest = [...model.decisions.values()].sort((one, other) => other.at_us - one.at_us);
  drawDecisions(at("decisions"), newest, true, select);
  histories.load([...grid.visible, selected].filter((id) => model.rows.has(id)));
  if (!lostAt) showConnection();
  announce(counts);
}

const searched = () => at("find").value.trim().toLowerCase();

/** Nodes by site and name: as their owner has them where another controller owns them. */
function allNodes() {
  const own = [...model.nodes.values()].map((node) => ({ ...node, site: model.site, replica: model.controller?.identity }));
  const others = [...fleet.nodes.values()].filter((node) => node.site !== model.site || node.replica !== model.controller?.identity);
  const known = new Map(others.filter((node) => node.site === model.site).map((node) => [node.id, node]));
  return [...own.filter((node) => !known.has(node.id)), ...others];
}

/** A bearer of this controller, which sends its values each second, or of another. */
const rowOf = (key) => model.rows.get(key) ?? fleet.rows.get(key);

function allRows() {
  const owners = new Map(allNodes().filter((node) => node.site === model.site).map((node) => [node.id, node.replica]));
  const own = [...model.rows.values()].map((row) => Object.assign(row, { key: row.id, here: true, site: model.site, replica: owners.get(row.node) }));
  return [...own, ...[...fleet.rows.values()].filter((row) => row.site !== model.site || !model.rows.has(row.id))];
}

function listed() {
  const wanted = searched();
  const fits = (row) => (chosen.size === 0 || chosen.has(row.state))
    && (!wanted || `${row.id} ${row.slice} ${row.rule} ${row.pipeline} ${row.site} ${row.replica} UE ${row.rnti} DRB ${row.drb}`.toLowerCase().includes(wanted));
  return allRows().filter(fits).sort((one, other) => other.rank - one.rank || (one.key < other.key ? -1 : 1));
}

function drawCount(count, nodes) {
  const all = nodes.reduce((sum, node) => sum + node.bearers, 0);
  let text = count === all ? plural(all, "bearer") : `${count} of ${plural(all, "bearer")}`;
  if (all === 0) {
    text = nodes.length === 0
      ? "No node is connected to the E2 gateway: check the gateway's address and the gNB's E2 agent."
      : "No node reports a bearer: no UE is connected, or the node sends no RLC reports.";
  } else if (count === 0) text = "No bearer fits. Clear the search or the states.";
  setText(at("count"), text);
  at("count").classList.toggle("empty", count === 0);
  at("grid").hidden = count === 0;
}

function drawSelected() {
  const row = rowOf(selected);
  if (row) panel.show(row, histories.of(selected), detail, model.now, model.seconds);
  else panel.empty(selected ? `${selected} is gone. Select another bearer.` : "Select a bearer to see its curves and decisions.");
}

function showConnection(reason) {
  const text = lostAt
    ? `Disconnected since ${clock(lostAt)} (${span(Date.now() * 1000 - lostAt)}), reconnecting …`
    : `Live · ${clock(model.now)}`;
  // Announced when it changes, not each second.
  const place = at("connection");
  place.setAttribute("aria-live", "off");
  setText(place, text);
  place.className = lostAt ? "bad" : "good";
  const notice = at("notice");
  notice.hidden = !lostAt;
  if (lostAt && reason !== undefined) {
    setText(notice, `Disconnected since ${clock(lostAt)}: ${reason}. What is shown is the last known state; the page reconnects by itself.`);
  }
}

function announce(counts) {
  const parts = ["violated", "infeasible", "radio_stalled"].filter((state) => counts[state]);
  const text = parts.map((state) => `${plural(counts[state], "bearer")} ${STATES[state].word.toLowerCase()}`).join(", ") || "No bearer violated";
  if (text === announced.text || Date.now() - announced.at < ANNOUNCE_MS) return;
  announced = { text, at: Date.now() };
  setText(at("announcer"), text);
}

// ---------------------------------------------------------------------- actions

function select(id, open) {
  if (id !== selected) detail = null;
  selected = id;
  history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  document.body.classList.toggle("opened", open || document.body.classList.contains("opened"));
  if (open && getComputedStyle(at("overview")).display === "none") at("detail").focus();
  refreshDetail();
  draw();
}

async function refreshDetail() {
  const id = selected;
  if (!id || !model.rows.has(id)) return;
  try {
    const answer = await get(`bearer?id=${encodeURIComponent(id)}`, token);
    const received = await answer.json();
    if (id !== selected) return;
    detail = received;
    drawSelected();
  } catch {
    // The bearer went, or the connection did: the stream says which.
  }
}

function toggle(state) {
  if (!chosen.delete(state)) chosen.add(state);
  search();
}

function search() {
  if (model.fleet) fleet.begin();
  draw();
}

function askForToken(message, again) {
  at("access").hidden = false;
  setText(at("refusal"), again ? `Refused: ${message}` : message);
  setText(at("connection"), "Not allowed to read yet");
  at("token").focus();
  return new Promise((resolve) => {
    at("access").addEventListener("submit", (event) => {
      event.preventDefault();
      resolve(at("token").value);
    }, { once: true });
  });
}

at("find").addEventListener("input", search);
at("back").addEventListener("click", () => {
  document.body.classList.remove("opened");
  grid.grid.focus();
});
addEventListener("hashchange", () => {
  const id = linked();
  if (rowOf(id)) select(id, true);
});
if (selected) document.body.classList.add("opened");

/** The bearer that the address names; metrics, and so dashboards, have its RNTI in decimal. */
function linked() {
  const id = decodeURIComponent(location.hash.slice(1));
  const hex = (rnti) => `0x${Number(rnti).toString(16).padStart(4, "0")}`;
  return id.replace(/\/(\d+)\/(?=drb\d+$)/, (_, rnti) => `/${hex(rnti)}/`) || null;
}
