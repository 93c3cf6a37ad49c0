// Python of a page: fetched at the first press, run in a worker, started anew where code never ends.

const SECONDS = 5; // of its own time, for the reader's code
const PATIENCE = 60; // seconds for a grader that looks for a mistake

/** An error that a reader can do something about, in words. */
export class Trouble extends Error {}

/** The reader stopped what ran. */
export class Stopped extends Trouble {
  constructor() {
    super("Stopped.");
  }
}

export class Session {
  /** `base` is the address of the folder with the worker and its files. */
  constructor(base) {
    this.base = base;
    this.files = new Map();
    this.worker = null;
    this.spare = null;
    this.stops = false;
  }

  /** Fetch a file once; it stays for the next worker, which may have no network. */
  async fetched(name, read) {
    if (!this.files.has(name)) {
      const response = await fetch(new URL(name, this.base)).catch(() => null);
      if (!response?.ok) {
        throw new Trouble(
          location.protocol === "file:"
            ? "Browsers run no Python in a page that was opened from a folder; the notebook runs it."
            : "Python could not be fetched. Is there a network?",
        );
      }
      this.files.set(name, await response[read]());
    }
    return this.files.get(name);
  }

  /** Send a message to the worker and wait for its answer; `hear` is told of what comes between. */
  ask(message, hear = {}) {
    const { worker } = this;
    if (this.stops) {
      this.end();
      return Promise.reject(new Stopped());
    }
    return new Promise((resolve, reject) => {
      let full = false;
      let thinks; // the reader's code has run, and the grader takes its time
      let clock = setTimeout(() => this.give(new Trouble(TOO_LONG)), 1000 * PATIENCE);
      const finish = (settle, value) => {
        clearTimeout(clock);
        clearTimeout(thinks);
        this.give = null;
        settle(value);
      };
      this.give = (trouble) => {
        this.end();
        finish(reject, trouble);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.end();
        finish(reject, new Trouble("Python could not start in this browser."));
      };
      worker.onmessage = ({ data }) => {
        if (data.kind === "begin" || data.kind === "end") {
          if (full) return;
          clearTimeout(clock);
          clearTimeout(thinks);
          const own = data.kind === "begin";
          const late = () => this.give(own ? new Endless() : new Trouble(TOO_LONG));
          clock = setTimeout(late, 1000 * (own ? SECONDS + 0.5 : PATIENCE));
          if (!own) thinks = setTimeout(() => hear.thinking?.(), 500);
        } else if (data.kind === "full") {
          // it may still say in which line, or be lost in collecting what fills its memory
          full = true;
          clearTimeout(clock);
          clock = setTimeout(() => this.give(new Trouble(FULL)), 1500);
        } else if (data.kind === "print") hear.printed?.(data.line);
        else if (data.kind === "inside") this.inside = data.part;
        else if (data.kind === "broken") {
          this.end();
          finish(reject, new Trouble("Python stopped here, perhaps for want of memory."));
        } else finish(resolve, data);
      };
      worker.postMessage(message);
    });
  }

  /** End the worker; the next question starts another one. */
  end() {
    this.worker?.terminate();
    this.worker = null;
    this.loaded = new Set();
  }

  newWorker() {
    return new Worker(new URL("worker.js", this.base), { type: "module" });
  }

  async start() {
    if (this.worker) return;
    const packed = await this.fetched("python.packed", "arrayBuffer");
    this.loaded = new Set();
    this.worker = this.spare ?? this.newWorker();
    this.spare = null; // it may be ended before it has started
    await this.ask({ kind: "start", packed });
    this.spare = this.newWorker(); // its files are there when this one has to be ended
  }

  /** Do what nothing else of the page may interrupt. */
  async alone(action) {
    if (this.busy)
      throw new Trouble("Something else on this page is still running: stop it first.");
    this.busy = true;
    try {
      return await action();
    } finally {
      this.busy = this.stops = false;
    }
  }

  /** Judge code: what the grader says. */
  judge(request, hear) {
    return this.alone(() => this.judged(request, hear));
  }

  /** Fetch and start something, once for each worker. */
  async load(name, bring) {
    await this.start();
    if (this.loaded.has(name)) return;
    await this.ask(await bring());
    this.loaded.add(name);
  }

  async judged(request, hear) {
    const { chapter } = request;
    const data = await this.fetched(`${chapter}.json`, "json");
    await this.load(chapter, () => ({ kind: "chapter", name: chapter, data }));
    const verdict = await this.ask({ kind: "judge", ...request }, hear);
    if (verdict.spent) this.end();
    return verdict;
  }

  /** Stop what runs, at the reader's wish. */
  stop() {
    if (this.give) this.give(new Stopped());
    else this.stops = true; // between two questions, or while something is fetched
  }
}

export class Endless extends Trouble {
  constructor() {
    super(
      `Not yet: your function was still running after ${SECONDS} seconds. Does a loop there never ` +
        "reach its end?",
    );
  }
}

const FULL =
  "Not yet: your code fills the page's memory. What it makes is freed only when it ends.";
const TOO_LONG = "The grader found no answer within a minute.";
