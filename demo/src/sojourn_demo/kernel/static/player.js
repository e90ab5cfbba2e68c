// A player of adaptive video over Media Source Extensions that logs what its user sees.
//
// The rate of the next segment is chosen by BBA-0: Huang et al., "A Buffer-Based Approach to Rate
// Adaptation" (SIGCOMM 2014), Algorithm 1.

const log = [];
const session = { log, failed: null };

// Unix time in ms.
const now = () => performance.timeOrigin + performance.now();

// The index of the next rate; `last` is that of the segment before, or null.
function choose({ ladder_kbps: rates, reservoir_s, cushion_s }, bufferS, last) {
  const top = rates.length - 1;
  if (bufferS <= reservoir_s) return 0;
  if (bufferS >= reservoir_s + cushion_s) return top;
  // The rate map f: linear from the lowest to the highest rate over the cushion.
  const f = rates[0] + ((rates[top] - rates[0]) * (bufferS - reservoir_s)) / cushion_s;
  const previous = last ?? 0;
  const above = rates[Math.min(previous + 1, top)];
  const below = rates[Math.max(previous - 1, 0)];
  // "max{Rᵢ : Rᵢ < f(Buf)}"
  if (f >= above) return Math.max(rates.findLastIndex((rate) => rate < f), 0);
  // "min{Rᵢ : Rᵢ > f(Buf)}"
  if (f <= below) return rates.findIndex((rate) => rate > f);
  return previous;
}

async function fetched(path) {
  // Each segment comes over the network, though the rate may have been played before.
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${path}: status ${answer.status}`);
  return answer;
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const event = (target, name) =>
  new Promise((done) => target.addEventListener(name, done, { once: true }));

// What the element has ahead of the position, s.
function ahead(video) {
  const { buffered, currentTime } = video;
  return buffered.length ? Math.max(0, buffered.end(buffered.length - 1) - currentTime) : 0;
}

async function play(video) {
  const manifest = await (await fetched("/video/manifest.json")).json();
  const media = new MediaSource();
  video.src = URL.createObjectURL(media);
  await event(media, "sourceopen");
  const source = media.addSourceBuffer(manifest.type);
  const note = (event) =>
    log.push({ event, at_ms: now(), buffer_s: ahead(video), position_s: video.currentTime });
  for (const name of ["playing", "waiting"]) {
    video.addEventListener(name, () => note(name));
  }
  setInterval(() => note("sample"), 250);
  video.play();
  let rate = null;
  for (let index = 0; ; index++) {
    while (ahead(video) > manifest.max_buffer_s - manifest.segment_s) await sleep(50);
    rate = choose(manifest, ahead(video), rate);
    const requested_ms = now();
    const data = await (await fetched(`/video/${rate}.webm`)).arrayBuffer();
    source.timestampOffset = index * manifest.segment_s;
    source.appendBuffer(data);
    await event(source, "updateend");
    log.push({
      event: "segment",
      at_ms: now(),
      requested_ms,
      index,
      rate,
      bytes: data.byteLength,
      from_s: index * manifest.segment_s,
      to_s: (index + 1) * manifest.segment_s,
    });
  }
}

play(document.querySelector("video")).catch((error) => (session.failed = String(error)));
