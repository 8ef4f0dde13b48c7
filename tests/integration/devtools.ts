// The class table of a snapshot, as the front end of DevTools computes it:
//   node devtools.mjs SNAPSHOT TABLE
import * as HS from 'chrome-devtools-frontend/front_end/entrypoints/heap_snapshot_worker/HeapSnapshot.js';
import * as Loader from 'chrome-devtools-frontend/front_end/entrypoints/heap_snapshot_worker/HeapSnapshotLoader.js';
import * as fs from 'node:fs';

const PIECE = 1 << 20;

// Node has it since version 22.
(Promise as any).withResolvers ??= function () {
  let resolve, reject;
  const promise = new Promise((yes, no) => { resolve = yes; reject = no; });
  return { promise, resolve, reject };
};

async function main() {
  const loader = new Loader.HeapSnapshotLoader({ sendEvent() {} } as any);
  const text = fs.readFileSync(process.argv[2], 'utf8');
  for (let at = 0; at < text.length; at += PIECE) loader.write(text.slice(at, at + PIECE));
  loader.close();
  await loader.parsingComplete;
  const channel = new MessageChannel();
  new (HS as any).SecondaryInitManager(channel.port2);
  const snapshot: any = await loader.buildSnapshot(channel.port1 as any);
  const classes: any[] = Object.values(snapshot.getAggregatesByClassKey(false, 'allObjects'));
  const rows = classes.map((each) => [each.name, each.count, each.self, each.maxRet]);
  fs.writeFileSync(process.argv[3], JSON.stringify(rows));
  process.exit(0);
}

main().catch((error) => { console.error(error); process.exit(1); });
