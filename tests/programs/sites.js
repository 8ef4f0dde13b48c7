// Keeps 1,000 sessions while V8 tracks allocations, and writes a snapshot: node sites.js FILE
const fs = require('fs');
const inspector = require('inspector');

const kept = [];

class Session {
  constructor(number) {
    this.data = [number, number + 1];
  }
}

function open(number) {
  return new Session(number);
}

const file = fs.openSync(process.argv[2], 'w');
const session = new inspector.Session();
session.connect();
session.on('HeapProfiler.addHeapSnapshotChunk',
  (message) => fs.writeSync(file, message.params.chunk));
session.post('HeapProfiler.startTrackingHeapObjects', {trackAllocations: true});
for (let number = 0; number < 1000; number++) {
  kept.push(open(number));
}
session.post('HeapProfiler.stopTrackingHeapObjects', {}, () => fs.closeSync(file));
globalThis.kept = kept;
