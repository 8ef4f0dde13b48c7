// Leaks in one of several ways, then writes its heap three times, as it grows:
//   node leaks.js WAY FOLDER
const { EventEmitter } = require('events');
const v8 = require('v8');

class Session {
  constructor(number) {
    this.number = number;
    this.text = `session ${number} ${'x'.repeat(40)}`;
  }
}

const sessions = new Map();
const bus = new EventEmitter();
bus.setMaxListeners(0);
const handlers = [];

const ways = {
  map(session) { sessions.set(`key ${session.number}`, session); },
  emitter(session) { bus.on('tick', function onTick() { return session; }); },
  closure(session) { handlers.push(function handle() { return session; }); },
  timers(session) { setTimeout(function later() { return session; }, 1e9).unref(); },
};

let made = 0;

function leak() {
  for (let i = 0; i < 1500; i++) ways[process.argv[2]](new Session(made++));
}

// Each snapshot in a turn of its own, or the stack would hold what it was leaked to.
function turn(step) {
  v8.writeHeapSnapshot(`${process.argv[3]}/${step}.heapsnapshot`);
  if (step === 3) process.exit(0);
  leak();
  setImmediate(turn, step + 1);
}

leak();
setImmediate(turn, 1);
