/* Search of a site that is opened from disk, where browsers start no worker from a file: its script
   runs in a frame instead. Material's plugin `offline` loads a script of this name from a CDN unless
   the site has its own. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = `<script>
        postMessage = data => parent.dispatchEvent(new CustomEvent("frame-worker", {detail: data}));
      </script><script src="${url}"></script>`;
      this.frame.addEventListener("load", () => {
        this.waiting.forEach(data => this.deliver(data));
        this.waiting = null;
      });
      addEventListener("frame-worker", ({ detail }) =>
        this.dispatchEvent(new MessageEvent("message", { data: detail })));
      document.body.append(this.frame);
    }
    deliver(data) {
      const { contentWindow } = this.frame;
      contentWindow.dispatchEvent(new contentWindow.MessageEvent("message", { data }));
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.deliver(data);
    }
  };
}
