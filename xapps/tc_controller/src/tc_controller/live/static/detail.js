// The selected bearer: state, why, what holds a remedy up, curves, facts, decisions.

import { Chart } from "./chart.js";
import { badge, clock, html, rate, setText, span, words } from "./words.js";

export class Detail {
  constructor(place) {
    this.chart = new Chart();
    this.title = html("h2", { id: "bearer-title" }, "No bearer selected");
    this.state = html("p", { class: "verdict" });
    this.text = html("div", { class: "why" });
    this.facts = html("dl");
    this.classes = html("div");
    this.flows = html("div");
    this.decisions = html("ol", { class: "decisions" });
    this.none = html("p", { class: "empty" });
    this.here = html("div", {}, this.chart.element,
      html("h3", {}, "Decisions"), this.decisions, html("h3", {}, "Now"), this.facts, this.classes, this.flows);
    this.body = html("div", { hidden: true }, this.state, this.text, this.here);
    place.append(this.title, this.none, this.body);
  }

  empty(text) {
    this.id = null;
    setText(this.title, "No bearer selected");
    setText(this.none, text);
    this.none.hidden = false;
    this.body.hidden = true;
  }

  /** `row`: of the list; `history`: its samples; `detail`: what the controller says, or null. */
  show(row, history, detail, now, seconds) {
    this.none.hidden = true;
    this.body.hidden = false;
    if (this.id !== row.key) {
      this.id = row.key;
      this.chart.follows = true;
      for (const part of [this.text, this.facts, this.classes, this.flows, this.decisions]) part.replaceChildren();
    }
    setText(this.title, `UE ${row.rnti} DRB ${row.drb} on ${row.node}`);
    this.drawState(row, now);
    this.here.hidden = !row.here;
    if (history) this.chart.show(`UE ${row.rnti} DRB ${row.drb}`, history.times, history.samples, row.bound_ms, detail?.decisions, seconds);
    if (detail?.id === row.key) this.drawDetail(detail);
    else if (!row.here) replace(this.text, [row], elsewhere);
  }

  drawState(row, now) {
    const since = row.since_us == null ? "" : `since ${clock(row.since_us)} (${span(now - row.since_us)})`;
    if (this.state.dataset.state !== row.state || !this.state.firstChild) {
      this.state.dataset.state = row.state;
      this.state.replaceChildren(badge(row.state), " ", html("span"));
    }
    setText(this.state.lastElementChild, since);
  }

  drawDetail(detail) {
    const lines = [
      [null, detail.reason],
      ["What to do", detail.advice],
      ["No decision", detail.blocker],
      ["Stale", detail.stale],
    ].filter(([, text]) => text);
    replace(this.text, lines, ([label, text]) => html("p", {}, label ? html("b", {}, `${label}: `) : null, text));
    replace(this.facts, detail.facts, ([label, text]) => html("div", {}, html("dt", {}, label), html("dd", {}, text)));
    replace(this.classes, detail.classes.length ? [detail.classes] : [], (classes) => table("Classes of traffic",
      ["Class", "State", "Reason"], classes.map((each) => [each.name, badge(each.state), each.reason])));
    replace(this.flows, detail.flows?.top.length ? [detail.flows.top] : [], (flows) => table(`Largest flows of ${detail.flows.active_flows}`,
      ["Flow", "Rate", ""], flows.map((flow) => [flow.flow, rate(flow.rate_kbps), flow.inelastic ?? (flow.greedy ? "greedy" : "sparse")])));
    drawDecisions(this.decisions, detail.decisions, false);
  }
}

/** Keeps the children while what they show stays the same, so that nothing is read out or deselected in vain. */
function replace(place, items, make) {
  const shown = JSON.stringify(items);
  if (place.dataset.shown === shown) return;
  place.dataset.shown = shown;
  place.replaceChildren(...items.map(make));
}

/** What the list says of a bearer that another controller controls. */
function elsewhere({ site, replica, reason, stale }) {
  const where = [site, replica].filter(Boolean).join(", ");
  return html("div", {}, html("p", {}, reason ?? stale ?? ""), html("p", {}, `Controlled by ${where}: curves and decisions are on its page.`));
}

function table(caption, heads, rows) {
  return html("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, html("table", {}, html("caption", {}, caption),
    html("thead", {}, html("tr", {}, ...heads.map((head) => html(head ? "th" : "td", head ? { scope: "col" } : {}, head)))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...row.map((cell) => html("td", {}, cell)))))));
}

/** Newest first; those with an explanation can be opened, and stay open. */
export function drawDecisions(place, decisions, named, onSelect) {
  const shown = JSON.stringify(decisions);
  if (place.dataset.shown === shown) return;
  place.dataset.shown = shown;
  if (decisions.length === 0) {
    place.replaceChildren(html("li", { class: "empty" }, "None yet."));
    return;
  }
  const open = new Set([...place.querySelectorAll("details[open]")].map((each) => each.dataset.id));
  place.replaceChildren(...decisions.map((decision) => decisionItem(decision, named, open.has(decision.id), onSelect)));
}

function decisionItem(decision, named, open, onSelect) {
  const line = [
    html("time", {}, clock(decision.at_us)), " ",
    html("b", {}, decision.template), " ",
    html("span", { class: `result ${kind(decision.result)}` }, decision.effect ? words(decision.effect) : words(decision.result)),
  ];
  const reason = html("p", {}, `${words(decision.trigger)}: ${decision.reason}`);
  if (!named) {
    const details = html("details", { "data-id": decision.id, open }, html("summary", {}, ...line, reason), html("pre", { tabindex: 0 }, decision.text));
    return html("li", {}, details);
  }
  const bearer = html("button", { type: "button", class: "link" }, decision.bearer);
  bearer.addEventListener("click", () => onSelect(decision.bearer, true));
  return html("li", {}, ...line, " ", bearer, reason);
}

function kind(result) {
  if (result === "accepted" || result === "satisfied" || result === "improved") return "good";
  return /refused|rolled|worse|no effect|unanswered/.test(result) ? "bad" : "";
}
