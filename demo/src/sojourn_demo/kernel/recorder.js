// Records a synthetic picture with MediaRecorder (W3C): the bytes of a WebM file.
async ({ kbps, width, height, fps, pictures, type }) => {
  const noise = new OffscreenCanvas(2 * width, 2 * height);
  const grains = noise.getContext("2d");
  const image = grains.createImageData(noise.width, noise.height);
  for (let at = 0; at < image.data.length; at += 4) {
    image.data.fill(256 * Math.random(), at, at + 3);
    image.data[at + 3] = 255;
  }
  grains.putImageData(image, 0, 0);

  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d");
  const draw = (number) => {
    const angle = (2 * Math.PI * number) / pictures;
    context.globalAlpha = 1;
    context.fillStyle = "teal";
    context.fillRect(0, 0, width, height);
    // Two layers that move apart, which no motion vector predicts.
    context.globalAlpha = 0.25;
    for (const sign of [1, -1]) {
      const [x, y] = [Math.cos(sign * angle), Math.sin(sign * angle)];
      context.drawImage(noise, ((x - 1) * width) / 2, ((y - 1) * height) / 2);
    }
  };

  const stream = canvas.captureStream(0);
  const [track] = stream.getVideoTracks();
  const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 1000 * kbps });
  const recorded = new Promise((done, fail) => {
    recorder.ondataavailable = ({ data }) => done(data);
    recorder.onerror = ({ error }) => fail(error);
  });
  recorder.start();
  const began = performance.now();
  // One more, with which the last of the segment ends.
  for (let number = 0; number <= pictures; number++) {
    draw(number);
    track.requestFrame();
    const next = began + (1000 * (number + 1)) / fps;
    await new Promise((done) => setTimeout(done, next - performance.now()));
  }
  recorder.stop();
  return new Uint8Array(await (await recorded).arrayBuffer());
};
