// Server-sent events over fetch: unlike EventSource it can send a token and tells why it was refused.

const SILENCE_MS = 6000;
const RETRY_MS = [500, 1000, 2000, 5000];

export class Refused extends Error {
  constructor(status, text) {
    super(text.trim() || `status ${status}`);
    this.status = status;
  }
}

export async function get(path, token) {
  const answer = await fetch(path, { headers: headers(token), cache: "no-store" });
  if (!answer.ok) throw new Refused(answer.status, await answer.text());
  return answer;
}

const headers = (token) => (token ? { Authorization: `Bearer ${token}` } : {});

/**
 * Follows a stream for ever: `on.event(name, document)`, `on.open()`, `on.lost(reason)`; `on.refused(message)` gives a token to try.
 */
export async function follow(path, on) {
  let failures = 0;
  let token = null;
  for (;;) {
    try {
      await read(path, token, (name, document) => {
        if (name === "whole") {
          failures = 0;
          on.open(token);
        }
        on.event(name, document);
      });
      on.lost("the controller ended the stream");
    } catch (error) {
      if (error.status === 401 || error.status === 403) {
        token = await on.refused(error.message, token !== null);
        continue;
      }
      on.lost(error.status ? error.message : "no answer");
    }
    await new Promise((resume) => setTimeout(resume, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]));
  }
}

async function read(path, token, onEvent) {
  const abort = new AbortController();
  const answer = await fetch(path, { headers: headers(token), cache: "no-store", signal: abort.signal });
  if (!answer.ok) throw new Refused(answer.status, await answer.text());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let name = "";
  let data = [];
  for (;;) {
    const silence = setTimeout(() => abort.abort(), SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("event: ")) name = line.slice(7);
      else if (line.startsWith("data: ")) data.push(line.slice(6));
      else if (line === "" && data.length) {
        onEvent(name, JSON.parse(data.join("\n")));
        data = [];
      }
    }
  }
}
