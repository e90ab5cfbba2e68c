// Encodes a synthetic picture with WebCodecs (W3C) as VP8: pictures as base64, in their order.
async function encode({ kbps, width, height, fps, pictures, perSegment }) {
  const noise = new OffscreenCanvas(2 * width, 2 * height);
  const grains = noise.getContext("2d");
  const image = grains.createImageData(noise.width, noise.height);
  // A linear congruential generator: the same picture in each run.
  let state = 1;
  for (let at = 0; at < image.data.length; at += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    image.data.fill(state >>> 24, at, at + 3);
    image.data[at + 3] = 255;
  }
  grains.putImageData(image, 0, 0);

  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  const draw = (number) => {
    const angle = (2 * Math.PI * number) / pictures;
    const colours = context.createLinearGradient(0, 0, width, height);
    colours.addColorStop(0, `hsl(${(360 * number) / pictures} 70% 40%)`);
    colours.addColorStop(1, `hsl(${(360 * number) / pictures + 120} 70% 60%)`);
    context.globalAlpha = 1;
    context.fillStyle = colours;
    context.fillRect(0, 0, width, height);
    // Two layers that move apart, which no motion vector predicts.
    context.globalAlpha = 0.25;
    for (const sign of [1, -1]) {
      const [x, y] = [Math.cos(sign * angle), Math.sin(sign * angle)];
      context.drawImage(noise, ((x - 1) * width) / 2, ((y - 1) * height) / 2);
    }
    context.globalAlpha = 1;
    context.fillStyle = "white";
    context.font = `${height / 6}px sans-serif`;
    context.fillText(`${kbps} kbit/s`, width / 20, height / 2 + (height / 4) * Math.sin(angle));
  };

  const encoded = [];
  let failed = null;
  const encoder = new VideoEncoder({
    output: (chunk) => {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      encoded.push({ key: chunk.type === "key", data: base64(data) });
    },
    error: (error) => (failed = error),
  });
  encoder.configure({
    codec: "vp8",
    width,
    height,
    framerate: fps,
    bitrate: kbps * 1000,
    bitrateMode: "constant",
  });
  for (let number = 0; number < pictures && !failed; number++) {
    draw(number);
    const frame = new VideoFrame(canvas, { timestamp: (number * 1e6) / fps });
    encoder.encode(frame, { keyFrame: number % perSegment === 0 });
    frame.close();
    while (encoder.encodeQueueSize > 4) await new Promise((done) => setTimeout(done, 1));
  }
  if (!failed) await encoder.flush();
  if (failed) throw failed;
  encoder.close();
  return encoded;
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}
