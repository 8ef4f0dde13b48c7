// Fails a test whose work leaves objects behind, in this process or in a page.
// Copy it beside your tests of Vitest, Jest, node:test or Playwright; change it.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const DUMPS = 3, FINDINGS = 20;

// Do `work` so many times before each of three snapshots of this process.
export async function expectNothingAccumulates(times, work) {
  const session = new Session();
  session.connect();
  try {
    await check(times, work, (file) => write(file, session, (method) => session.post(method)));
  } finally {
    session.disconnect();
  }
}

// The same of a page of Playwright or Puppeteer in Chromium, by its CDP session:
// `await page.context().newCDPSession(page)`, or `await page.createCDPSession()`.
export async function expectNothingAccumulatesInPage(session, times, work) {
  await session.send("HeapProfiler.enable");
  await check(times, work, (file) => write(file, session, (method) => session.send(method)));
}

async function check(times, work, snapshot) {
  const folder = mkdtempSync(join(tmpdir(), "leaks-"));
  try {
    const files = [];
    for (let dump = 0; dump < DUMPS; dump++) {
      for (let time = 0; time < times; time++) await work();
      files.push(join(folder, `${dump}.heapsnapshot`));
      await snapshot(files[dump]);
    }
    const done = spawnSync("ingest", ["check", ...files], { encoding: "utf8" });
    if (done.error) throw done.error;
    const said = done.stdout + done.stderr;
    if (done.status === FINDINGS) throw new Error(said);
    if (done.status !== 0) throw new Error(`ingest check: exit ${done.status}\n${said}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function write(file, session, post) {
  const out = openSync(file, "w");
  const chunk = (event) => writeSync(out, event.params ? event.params.chunk : event.chunk);
  session.on("HeapProfiler.addHeapSnapshotChunk", chunk);
  try {
    await post("HeapProfiler.takeHeapSnapshot");
  } finally {
    session.off("HeapProfiler.addHeapSnapshotChunk", chunk);
    closeSync(out);
  }
}
