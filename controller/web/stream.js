// Reads the daemon's event stream. The screen is stale as soon as the stream breaks or has been silent for five seconds;
// the stream then reconnects by itself, from the last event received.

const SILENT_MS = 5000;
const RETRY_MS = 1000;

export class Stream {
  /** `listeners`: table, journal, gap, stale(silent for ms), fresh. */
  constructor(listeners) {
    this.listeners = listeners;
    this.lastEvent = 0;
    this.receivedAt = performance.now();
    this.stale = true;
    this.source = null;
    this.retryTimer = 0;
    setInterval(() => this.check(), 500);
    addEventListener("online", () => this.connect());
    this.connect();
  }

  connect() {
    clearTimeout(this.retryTimer);
    this.source?.close();
    const source = new EventSource(`/api/v1/events/stream${this.lastEvent ? `?after=${this.lastEvent}` : ""}`);
    this.source = source;
    this.openedAt = performance.now();
    for (const kind of ["table", "journal", "gap", "beat"])
      source.addEventListener(kind, (event) => this.receive(event, kind));
    source.addEventListener("error", () => {
      if (source !== this.source) return;
      source.close();
      this.reportStale();
      this.retryTimer = setTimeout(() => this.connect(), RETRY_MS);
    });
  }

  receive(event, kind) {
    this.receivedAt = performance.now();
    if (event.lastEventId) this.lastEvent = Math.max(this.lastEvent, Number(event.lastEventId));
    const data = JSON.parse(event.data);
    if (kind === "table" && data.seq < this.lastEvent) this.lastEvent = data.seq; // a new journal
    if (kind === "table" && this.stale) {
      this.stale = false;
      this.listeners.fresh();
    }
    this.listeners[kind]?.(data);
  }

  /** A stream can hang without breaking. Only a new view of the table makes the screen fresh again. */
  check() {
    const silent = performance.now() - this.receivedAt;
    if (silent > SILENT_MS || this.stale) this.reportStale();
    const waiting = performance.now() - Math.max(this.openedAt, this.receivedAt);
    if (waiting > SILENT_MS && this.source.readyState !== EventSource.CLOSED) this.connect();
  }

  reportStale() {
    this.stale = true;
    this.listeners.stale(performance.now() - this.receivedAt);
  }
}
