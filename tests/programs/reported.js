// JavaScript programs that leak as public reports tell: node reported.js KIND.
// Each prints "ready" and waits. The truth of each kind is in reported.toml.
"use strict";
const http = require("http");
const vm = require("vm");
const { AsyncLocalStorage } = require("async_hooks");
const { EventEmitter, on } = require("events");
const channels = require("diagnostics_channel");
const { Readable, Writable } = require("stream");

class Order {
  constructor(number) {
    this.number = number;
    this.lines = Array.from({ length: 60 }, (_, i) => number * 100 + i + 0.5);
  }
}

const pendingByRequest = new Map();
const bus = new EventEmitter();
bus.setMaxListeners(0);
const store = new AsyncLocalStorage();
const shutdown = new AbortController();
const waiting = [];
const memo = {};
const refs = new Map();
const proxies = new Set();
let ready = null;

class Registry extends Map {}
const registry = new Registry();

class Basket extends Array {}

class Depot {
  static orders = [];
  #held = new Set();
  keep(order) { this.#held.add(order); }
}
const depot = new Depot();

function memoize(load) {
  const loaded = new Map();
  return (key) => {
    if (!loaded.has(key)) loaded.set(key, load(key));
    return loaded.get(key);
  };
}
const price = memoize((number) => new Order(number));

function limit(most) {
  let active = 0, head = null, tail = null;
  return (task) => {
    if (active < most) return active++, task();
    const node = { task, next: null };
    if (tail) tail.next = node; else head = node;
    tail = node;
    return head;
  };
}
const limited = limit(2);
const unanswered = new Map();
const loaded = {};
let shared = null;
const feed = new Readable({ objectMode: true, read() {} });
const sink = new Writable({ objectMode: true, write(order, encoding, done) {} });

const kinds = {
  "request-map": async () => {
    const server = http.createServer((request, response) => {
      pendingByRequest.set(request, { at: Date.now(), order: new Order(1) });
      response.end("ok");
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
    const get = () => new Promise((done) => http.get(
      { port: server.address().port, host: "127.0.0.1", agent },
      (response) => response.resume().on("end", done)));
    for (let i = 0; i < 1500; i += 4) await Promise.all([get(), get(), get(), get()]);
    agent.destroy();
  },
  "async-local-storage": () => {
    for (let i = 0; i < 3000; i++) {
      store.run({ order: new Order(i) }, () => setTimeout(() => {}, 3600e3));
    }
  },
  "abort-listeners": () => {
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      shutdown.signal.addEventListener("abort", () => order.number);
    }
  },
  "reactions": () => {
    ready = new Promise(() => {});
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      ready.then(() => order.number);
    }
  },
  "awaiting-functions": () => {
    const gate = new Promise((resolve) => waiting.push(resolve));
    async function handle(number) {
      const order = new Order(number);
      await gate;
      return order;
    }
    for (let i = 0; i < 3000; i++) handle(i);
    exports.gate = gate;
  },
  "resolvers": () => {
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      new Promise((resolve) => waiting.push(resolve)).then(() => order.number);
    }
  },
  "emitter": () => {
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      bus.on("paid", () => order.number);
    }
  },
  "process-events": () => {
    process.setMaxListeners(0);
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      process.on("SIGUSR2", () => order.number);
    }
  },
  "memo-object": () => {
    for (let i = 0; i < 20000; i++) memo[`{"page":${i}}`] = `<p>${i}</p>`.repeat(40) + i;
    for (const key in memo) memo[key].charCodeAt(0);
  },
  "map-subclass": () => {
    for (let i = 0; i < 3000; i++) registry.set(`order ${i}`, new Order(i));
  },
  "array-subclass": () => {
    exports.basket = new Basket();
    for (let i = 0; i < 3000; i++) exports.basket.push(new Order(i));
  },
  "static-field": () => {
    for (let i = 0; i < 3000; i++) Depot.orders.push(new Order(i));
  },
  "private-field": () => {
    for (let i = 0; i < 3000; i++) depot.keep(new Order(i));
  },
  "timeouts": () => {
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      setTimeout(() => order.number, 3600e3);
    }
  },
  "intervals": () => {
    class Poller {
      constructor(order) {
        this.order = order;
        this.timer = setInterval(() => this.poll(), 3600e3);
      }
      poll() { return this.order; }
    }
    for (let i = 0; i < 3000; i++) new Poller(new Order(i));
  },
  "buffers": () => {
    for (let i = 0; i < 40; i++) waiting.push(Buffer.alloc(1 << 20, i));
  },
  "global": () => {
    globalThis.sessions = {};
    for (let i = 0; i < 3000; i++) globalThis.sessions[`s${i}`] = new Order(i);
  },
  "contexts": () => {
    for (let i = 0; i < 40; i++) {
      const context = vm.createContext({ order: new Order(i) });
      vm.runInContext("var rows = []; for (let i = 0; i < 2000; i++) rows.push({ i })", context);
      waiting.push(context);
    }
  },
  "linked-closures": () => {
    let previous = null;
    const replace = () => {
      const before = previous;
      const unused = () => before && before.text;
      previous = { text: new Array(300).fill(1.5), run: () => "done" };
      return unused;
    };
    for (let i = 0; i < 2000; i++) replace();
    exports.replace = replace;
  },
  "generators": () => {
    function* rows(number) {
      const order = new Order(number);
      yield order.number;
      yield order.lines;
    }
    for (let i = 0; i < 3000; i++) {
      const cursor = rows(i);
      cursor.next();
      waiting.push(cursor);
    }
  },
  "parents": () => {
    class Page { constructor(parent) { this.parent = parent; this.rows = new Array(200).fill(0.5); } }
    exports.last = null;
    for (let i = 0; i < 2000; i++) exports.last = new Page(exports.last);
  },
  "weak-map": () => {
    const meta = new WeakMap();
    exports.meta = meta;
    for (let i = 0; i < 3000; i++) {
      const key = { i };
      waiting.push(key);
      meta.set(key, new Order(i));
    }
  },
  "buffer-slices": () => {
    for (let i = 0; i < 300; i++) waiting.push(Buffer.alloc(65536, i).subarray(0, 100));
  },
  "unread-events": async () => {
    exports.ticks = on(bus, "tick");
    for (let i = 0; i < 3000; i++) bus.emit("tick", new Order(i));
  },
  "unread-stream": () => {
    for (let i = 0; i < 3000; i++) feed.push(new Order(i));
  },
  "unwritten-stream": () => {
    for (let i = 0; i < 3000; i++) sink.write(new Order(i));
  },
  "symbol-registry": () => {
    const cache = globalThis[Symbol.for("shop.cache")] = new Map();
    for (let i = 0; i < 3000; i++) cache.set(i, new Order(i));
  },
  "memoized": () => {
    for (let i = 0; i < 3000; i++) price(i);
  },
  "kept-errors": () => {
    for (let i = 0; i < 3000; i++) {
      const error = new Error(`order ${i}`, { cause: new Order(i) });
      waiting.push(error);
    }
  },
  "channel-subscribers": () => {
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      channels.subscribe("shop.paid", () => order.number);
    }
  },
  "proxied": () => {
    for (let i = 0; i < 3000; i++) proxies.add(new Proxy(new Order(i), {}));
  },
  "string-slices": () => {
    for (let i = 0; i < 200; i++) {
      const page = Array.from({ length: 4000 }, (_, j) => String.fromCharCode(97 + (i + j) % 26)).join("");
      waiting.push(page.substring(100, 140));
    }
  },
  "dead-weak-references": () => {
    for (let i = 0; i < 60000; i++) refs.set(i, new WeakRef({ i }));
  },
  "limited-tasks": () => {
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      limited(() => new Promise(() => order.number));
    }
  },
  "socket-listeners": async () => {
    class Reply { constructor(number) { this.order = new Order(number); } }
    const server = http.createServer((request, response) => {
      setTimeout(() => response.end("ok"), 500);
    });
    server.keepAliveTimeout = 3600e3;
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    exports.agent = new http.Agent({ keepAlive: true, maxFreeSockets: 500 });
    const get = (number) => new Promise((done) => {
      const reply = new Reply(Array.from({ length: 30 }, (_, i) => new Order(number + i)));
      http.get(
        { port: server.address().port, host: "127.0.0.1", agent: exports.agent },
        (response) => response.resume().on("end", done),
      ).on("socket", (socket) => socket.on("error", function failed() { reply.order = null; }));
    });
    await Promise.all(Array.from({ length: 150 }, (_, i) => get(i)));
  },
  "cache-and-listeners": () => {
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      pendingByRequest.set(i, order);
      bus.on("evict", () => pendingByRequest.delete(order.number));
    }
  },
  "chained-jobs": () => {
    ready = new Promise(() => {});
    exports.mutex = { last: ready };
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      const done = exports.mutex.last.then(() => order.number);
      exports.mutex.last = done.catch(() => {});
    }
  },
  "web-stream": () => {
    let controller;
    globalThis.updates = new ReadableStream({ start(given) { controller = given; } });
    for (let i = 0; i < 3000; i++) controller.enqueue(new Order(i));
  },
  "exported-map": () => {
    exports.tasks = new Map();
    for (let i = 0; i < 3000; i++) exports.tasks.set(i, new Order(i));
  },
  "followed-signals": () => {
    for (let i = 0; i < 2000; i++) {
      const order = new Order(i);
      const signal = AbortSignal.any([shutdown.signal, new AbortController().signal]);
      signal.addEventListener("abort", () => order.number);
      waiting.push(signal);
    }
  },
  "joined-texts": () => {
    for (let i = 0; i < 8000; i++) memo[`s${i}`] = JSON.stringify({ user: `u${i} `.repeat(60) }) + i;
  },
  "unanswered-requests": () => {
    class Request {
      constructor(number) { this.id = number; this.body = Array(60).fill(number + 0.5); }
    }
    const send = (request) => new Promise((resolve, reject) => {
      unanswered.set(request.id, { resolve, reject });
    });
    const ask = async (request) => [request, await send(request)];
    for (let i = 0; i < 3000; i++) ask(new Request(i));
  },
  "store-listeners": () => {
    const createStore = () => {
      const listeners = [];
      return { subscribe(one) { listeners.push(one); }, count: () => listeners.length };
    };
    shared = createStore();
    for (let i = 0; i < 3000; i++) {
      const order = new Order(i);
      shared.subscribe(() => order.number);
    }
  },
  "exports-and-table": () => {
    const table = {
      17: (made) => {
        const rows = new Map();
        made.add = (number) => rows.set(number, new Order(number));
      },
    };
    const load = (number) => {
      loaded[number] = {};
      table[number](loaded[number]);
      return loaded[number];
    };
    shared = load(17);
    for (let i = 0; i < 3000; i++) shared.add(i);
  },
  "waiting-function": () => {
    async function poll() {
      const orders = [];
      for (let i = 0; i < 3000; i++) orders.push(new Order(i));
      await new Promise((done) => setTimeout(done, 3600e3));
      return orders;
    }
    poll();
  },
  "idle": () => {},
};

module.exports.kinds = kinds;
(async () => {
  await kinds[process.argv[2]]();
  console.log("ready");
  process.stdin.resume();
})();
