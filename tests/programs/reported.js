// JavaScript programs that leak as public reports tell: node reported.js KIND.
// Each prints "ready" and waits. The truth of each kind is in reported.toml.
"use strict";
const http = require("http");
const vm = require("vm");
const { AsyncLocalStorage } = require("async_hooks");
const { EventEmitter } = require("events");

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
};

module.exports.kinds = kinds;
(async () => {
  await kinds[process.argv[2]]();
  console.log("ready");
  process.stdin.resume();
})();
