// Listens to the daemon's events. What is shown is stale as soon as the stream breaks, or when it has been silent for
// five seconds; then it connects again by itself, from the last event heard.

const SILENT_MS = 5000;
const AGAIN_MS = 1000;

export class Stream {
  /** `listeners`: table, journal, gap, stale(since in ms), fresh. */
  constructor(listeners) {
    this.listeners = listeners;
    this.last = 0;
    this.heard = performance.now();
    this.stale = true;
    this.source = null;
    this.again = 0;
    setInterval(() => this.look(), 500);
    addEventListener("online", () => this.connect());
    this.connect();
  }

  connect() {
    clearTimeout(this.again);
    this.source?.close();
    const source = new EventSource(`/api/v1/events/stream${this.last ? `?after=${this.last}` : ""}`);
    this.source = source;
    this.opened = performance.now();
    source.addEventListener("table", (event) => this.hear(event, "table"));
    source.addEventListener("journal", (event) => this.hear(event, "journal"));
    source.addEventListener("gap", (event) => this.hear(event, "gap"));
    source.addEventListener("beat", (event) => this.hear(event, "beat"));
    source.addEventListener("error", () => {
      if (source !== this.source) return;
      source.close();
      this.tellStale();
      this.again = setTimeout(() => this.connect(), AGAIN_MS);
    });
  }

  hear(event, kind) {
    this.heard = performance.now();
    if (event.lastEventId) this.last = Math.max(this.last, Number(event.lastEventId));
    const data = JSON.parse(event.data);
    if (kind === "table" && data.seq < this.last) this.last = data.seq; // a new journal
    if (kind === "table" && this.stale) {
      this.stale = false;
      this.listeners.fresh();
    }
    this.listeners[kind]?.(data);
  }

  /** A stream can hang without breaking. Only a whole new picture makes the screen fresh again. */
  look() {
    const silent = performance.now() - this.heard;
    if (silent > SILENT_MS || this.stale) this.tellStale();
    const waiting = performance.now() - Math.max(this.opened, this.heard);
    if (waiting > SILENT_MS && this.source.readyState !== EventSource.CLOSED) this.connect();
  }

  tellStale() {
    this.stale = true;
    this.listeners.stale(performance.now() - this.heard);
  }
}
