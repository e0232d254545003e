// Uploads: over a transport that fails in every way, each file ends as the server says, and "saved" is said only
// for what the server has finished.
import assert from "node:assert/strict";
import { test } from "node:test";
import { UploadQueue } from "../../Sources/Gallery/Pages/upload-queue.js";
import { randomFrom } from "./seeded.mjs";

const slice = 10;

const passing = ["offline", "busy", "slow"];

class Failure extends Error {
  constructor(code, body = {}) {
    super(code);
    this.code = code;
    this.body = body;
  }
}

/**
 * A server in memory. `fault` may throw before or after each step. `hidden` has what earlier uploads left, a
 * sign of each slice under what the server knows of its file: album, folders, name, size and time.
 */
class FakeServer {
  uploads = new Map();
  hidden = new Map();
  files = new Map();
  calls = [];
  fault = () => {};
  sending = 0;
  mostSending = 0;
  gate = null;
  sliceSize = slice;
  batch = { files: 5, bytes: 30 };

  async #step(name, upload, action) {
    this.calls.push(name);
    await Promise.resolve();
    this.fault(name, "before", upload);
    const result = action();
    this.fault(name, "after", upload);
    return result;
  }

  #upload(id) {
    const upload = this.uploads.get(id);
    if (!upload) throw new Failure("unknown");
    return upload;
  }

  /** The bytes of a file, as if `source` began each slice. */
  #part(file, from, to) {
    return `${file.source} ${from}-${to}`;
  }

  begin(album, file) {
    const key = JSON.stringify([album, file.folders, file.name, file.size, file.modified]);
    return this.#step("begin", key, () => {
      const left = this.hidden.get(key) ?? { parts: [], size: 0 };
      this.hidden.set(key, left);
      const id = `${this.uploads.size} ${this.calls.length} ${key}`;
      this.uploads.set(id, { key, left, proven: 0, file });
      const candidate = [...this.files.values()].some((each) => each.size === file.size);
      return { upload: id, offset: left.size, candidate };
    });
  }

  async beginAll(files) {
    this.calls.push("beginAll");
    assert.ok(files.length <= this.batch.files);
    const answers = [];
    for (const { album, file } of files) {
      answers.push(await this.begin(album, file).catch(({ message }) => ({ error: message })));
    }
    return answers;
  }

  /** Sends each file whole; a lost connection, or a file that is gone, breaks off those behind it. */
  async sendAll(files, progress, signal) {
    this.calls.push("sendAll");
    assert.ok(files.reduce((sum, { file }) => sum + file.size, 0) <= this.batch.bytes);
    const outcomes = [];
    let sent = 0;
    for (const { upload, file } of files) {
      if (file.isGone) return files.map((each) => (each.file.isGone ? { error: "gone" } : null));
      try {
        await this.send(upload, file, 0, (bytes) => progress(sent + bytes), signal);
        sent += file.size;
        outcomes.push(await this.finish(upload));
      } catch (error) {
        if (!(error instanceof Failure) || passing.includes(error.code)) throw error;
        outcomes.push({ error: error.code, ...error.body });
      }
    }
    return outcomes;
  }

  same(id, file) {
    return this.#step("same", id, () => {
      const twin = [...this.files.values()].some((each) => each.source === file.source);
      if (twin) this.uploads.delete(id);
      return { state: twin ? "there" : "new" };
    });
  }

  offset(id) {
    return this.#step("offset", id, () => this.#upload(id).proven);
  }

  prove(id, file, offset, found) {
    return this.#step("prove", id, () => {
      const upload = this.#upload(id);
      assert.equal(offset, upload.proven, "proofs come in order");
      const end = Math.min(found, offset + slice);
      if (upload.left.parts[offset / slice] === this.#part(file, offset, end)) upload.proven = end;
      else this.#startOver(upload);
      return upload.proven;
    });
  }

  #startOver(upload) {
    upload.left = { parts: [], size: 0 };
    upload.proven = 0;
  }

  async send(id, file, offset, progress, signal) {
    this.sending += 1;
    this.mostSending = Math.max(this.mostSending, this.sending);
    try {
      if (this.gate) await this.gate(signal);
      return await this.#step("send", id, () => {
        const upload = this.#upload(id);
        if (upload.left.size !== upload.proven) this.#startOver(upload);
        if (upload.proven !== offset) throw new Failure("invalid", { offset: upload.proven });
        const end = Math.min(file.size, offset + slice);
        progress(end - offset);
        upload.left.parts.push(this.#part(file, offset, end));
        return (upload.left.size = upload.proven = end);
      });
    } finally {
      this.sending -= 1;
    }
  }

  finish(id) {
    return this.#step("finish", id, () => {
      const { file, left, key, proven } = this.#upload(id);
      if (proven !== file.size) throw new Failure("invalid", { offset: proven });
      const parts = left.parts.map((_, number) =>
        this.#part(file, number * slice, Math.min(file.size, (number + 1) * slice)));
      assert.deepEqual(left.parts, parts, "a file has its own bytes and no others");
      this.uploads.delete(id);
      if (this.hidden.get(key) === left) this.hidden.delete(key);
      const twin = [...this.files.values()].some((each) => each.source === file.source);
      if (!twin) this.files.set(id, file);
      return { state: twin ? "there" : "saved", name: file.name };
    });
  }

  cancel(id) {
    return this.#step("cancel", id, () => this.uploads.delete(id));
  }
}

function files(count, size = 25) {
  return Array.from({ length: count }, (_, number) => ({
    name: `${number}.jpg`, size: size + (number % 3), modified: number, folders: [], source: `content ${number}`,
  }));
}

/** Files that go in batches. */
function smallFiles(count) {
  return files(count, 4).map((file) => ({ ...file, name: `small ${file.name}`, source: `small ${file.source}` }));
}

function makeQueue(server, options = {}) {
  const queue = new UploadQueue(server, { wait: async () => {}, now: () => 0, ...options });
  queue.album = "a1";
  return queue;
}

async function settled(queue, limit = 5000) {
  for (let turn = 0; turn < limit && !queue.isOver && !queue.paused && queue.trouble !== "room"; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function checkCounts(queue) {
  const counted = { ready: 0, waiting: 0, sending: 0, finishing: 0, saved: 0, there: 0, failed: 0 };
  for (const item of queue.items) counted[item.state] += 1;
  assert.deepEqual(queue.counts, counted);
  assert.equal(queue.totalBytes, queue.items.reduce((sum, item) => sum + item.file.size, 0));
  assert.equal(queue.sentBytes, queue.items.reduce((sum, item) => sum + item.sent, 0));
}

test("files are sent in order, three at a time, and saved", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server);
  queue.add(files(20));
  assert.equal(server.calls.length, 0, "nothing is sent before start");
  queue.start();
  await settled(queue);
  assert.equal(queue.counts.saved, 20);
  assert.equal(server.files.size, 20);
  assert.ok(server.mostSending <= 3);
  assert.deepEqual([...server.files.values()].map((file) => file.name).slice(0, 3), ["0.jpg", "1.jpg", "2.jpg"]);
  assert.equal(queue.sentBytes, queue.totalBytes);
  checkCounts(queue);
});

test("files that wait for the disk hold up no others", async () => {
  const server = new FakeServer();
  const finish = server.finish.bind(server);
  /** @type {() => void} */
  let synced = () => {};
  const disk = new Promise((resolve) => (synced = () => resolve(undefined)));
  server.finish = async (id) => {
    await disk;
    return finish(id);
  };
  const queue = makeQueue(server);
  queue.add(files(40));
  queue.start();
  while (queue.counts.finishing < 40) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(queue.counts.saved, 0);
  synced();
  await settled(queue);
  assert.equal(queue.counts.saved, 40);
  checkCounts(queue);
});

test("saved is said only after the server has finished the file", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server);
  queue.onChange((item) => {
    if (item?.state === "saved") assert.ok([...server.files.values()].includes(item.file), item.file.name);
  });
  queue.add(files(10));
  queue.start();
  await settled(queue);
  assert.equal(queue.counts.saved, 10);
});

test("whatever fails on the way, every file is on the server once and the page says what became of it", async () => {
  const random = randomFrom("queue");
  for (let round = 0; round < 60; round += 1) {
    const server = new FakeServer();
    const queue = makeQueue(server);
    server.fault = () => {
      if (random() < 0.15) throw new Failure(passing[Math.floor(random() * 3)], { retryAfter: 1 });
    };
    queue.add([files(12, 25), files(12, 0), smallFiles(12), [...files(6), ...smallFiles(6)]][round % 4]);
    queue.start();
    await settled(queue);
    // After an answer to `finish` that was lost, the file begins again, and the server has it already.
    assert.equal(queue.counts.saved + queue.counts.there, 12, JSON.stringify([queue.counts, queue.items.map(({ error }) => error)]));
    assert.equal(new Set([...server.files.values()].map((file) => file.source)).size, 12);
    checkCounts(queue);
  }
});

test("a pause stops sending, and resuming goes on where the server is", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server, { parallel: 1 });
  let slices = 0;
  server.gate = async (signal) => {
    slices += 1;
    if (slices === 2) {
      queue.pause();
      signal.throwIfAborted();
    }
  };
  queue.add(files(1, 45));
  queue.start();
  await settled(queue);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(queue.counts.waiting, 1);
  assert.equal([...server.uploads.values()][0].proven, slice);
  queue.resume();
  await settled(queue);
  assert.equal(queue.counts.saved, 1);
  assert.equal(server.calls.filter((call) => call === "send").length, 5, "no slice was sent twice");
  checkCounts(queue);
});

test("a page that was reloaded continues uploads when the same files are picked again", async () => {
  const server = new FakeServer();
  const first = makeQueue(server);
  let slices = 0;
  server.fault = (name, when) => {
    if (name === "send" && when === "before" && ++slices > 4) first.stop();
  };
  first.add(files(3, 60));
  first.start();
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const begun = [...server.uploads.values()].reduce((sum, { proven }) => sum + proven, 0);
  assert.ok(begun > 0);
  server.fault = () => {};
  server.calls = [];
  const second = makeQueue(server);
  second.add(files(3, 60));
  second.start();
  await settled(second);
  assert.equal(second.counts.saved + second.counts.there, 3);
  const all = files(3, 60).reduce((sum, { size }) => sum + Math.ceil(size / slice), 0);
  assert.ok(server.calls.filter((call) => call === "send").length < all, "what was there was not sent again");
});

test("what is left of another picture of the same name, size and time does not become part of this one", async () => {
  const server = new FakeServer();
  const first = makeQueue(server);
  let slices = 0;
  server.fault = (name, when) => {
    if (name === "send" && when === "before" && ++slices > 2) first.stop();
  };
  first.add(files(1, 60));
  first.start();
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  server.fault = () => {};
  const second = makeQueue(server);
  second.add([{ ...files(1, 60)[0], source: "another picture" }]);
  second.start();
  await settled(second);
  assert.deepEqual([...server.files.values()].map((file) => file.source), ["another picture"]);
  // The first picture goes on where it was.
  server.calls = [];
  const third = makeQueue(server);
  third.add(files(1, 60));
  third.start();
  await settled(third);
  assert.equal(third.counts.saved, 1);
  assert.ok(server.calls.filter((call) => call === "send").length < 6);
});

test("two pictures of the same name, size and time that are sent at once both arrive", async () => {
  const random = randomFrom("twins");
  for (let round = 0; round < 40; round += 1) {
    const server = new FakeServer();
    server.gate = async () => {
      for (let turns = random() * 5; turns > 0; turns -= 1) await new Promise((done) => setImmediate(done));
    };
    const queues = [makeQueue(server), makeQueue(server)];
    queues.forEach((queue, number) => {
      queue.add([0, 1].map((each) => ({ ...files(1, 45)[0], source: `picture ${2 * number + each}` })));
      queue.start();
    });
    for (const queue of queues) await settled(queue);
    for (const queue of queues) assert.equal(queue.counts.saved, 2, JSON.stringify(queue.counts));
    assert.equal(new Set([...server.files.values()].map((file) => file.source)).size, 4);
  }
});

test("a file that is there already is not sent", async () => {
  const server = new FakeServer();
  const first = makeQueue(server);
  first.add(files(2));
  first.start();
  await settled(first);
  server.calls = [];
  const again = makeQueue(server);
  again.add(files(2));
  again.start();
  await settled(again);
  assert.equal(again.counts.there, 2);
  assert.ok(!server.calls.includes("send"));
});

test("small files go in few requests, and each is saved by its own name", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server);
  queue.add([...smallFiles(40), ...files(2)]);
  queue.start();
  await settled(queue);
  assert.equal(queue.counts.saved, 42);
  assert.equal(server.files.size, 42);
  assert.ok(server.calls.filter((call) => call === "sendAll").length <= 16, server.calls.join());
  assert.ok(server.calls.filter((call) => call === "beginAll").length <= 16);
  assert.ok(server.mostSending <= 3);
  checkCounts(queue);
});

test("one small file that fails fails alone, and so does one that is gone", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server);
  server.fault = (name, when, upload) => {
    if (name === "begin" && upload.includes("small 2.jpg")) throw new Failure("name");
    if (name === "finish" && upload.includes("small 4.jpg")) throw new Failure("failed");
  };
  const some = smallFiles(12);
  some[7].isGone = true;
  queue.add(some);
  queue.start();
  await settled(queue);
  const failed = queue.items.filter(({ state }) => state === "failed");
  assert.deepEqual(failed.map(({ file, error }) => [file.name, error]),
    [["small 2.jpg", "name"], ["small 4.jpg", "failed"], ["small 7.jpg", "gone"]]);
  assert.equal(queue.counts.saved, 9);
  checkCounts(queue);
});

test("a batch that is refused as a whole goes file by file, so that only the wrong one fails", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server);
  const sendAll = server.sendAll.bind(server);
  server.sendAll = async (files, ...rest) => {
    if (files.length > 1 && files.some(({ file }) => file.name === "small 3.jpg")) throw new Failure("invalid");
    return sendAll(files, ...rest);
  };
  server.fault = (name, when, upload) => {
    if (name === "send" && upload.includes("small 3.jpg")) throw new Failure("invalid");
  };
  queue.add(smallFiles(9));
  queue.start();
  await settled(queue);
  assert.equal(queue.counts.saved, 8);
  assert.deepEqual(queue.items.filter(({ state }) => state === "failed").map(({ file }) => file.name), ["small 3.jpg"]);
  checkCounts(queue);
});

test("a pause in the middle of a batch loses no file, and saves none twice", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server, { parallel: 1 });
  let sent = 0;
  server.gate = async (signal) => {
    sent += 1;
    if (sent === 3) {
      queue.pause();
      signal.throwIfAborted();
    }
  };
  queue.add(smallFiles(10));
  queue.start();
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(queue.counts.sending, 0);
  queue.resume();
  await settled(queue);
  assert.equal(queue.counts.saved + queue.counts.there, 10);
  assert.equal(server.files.size, 10);
  checkCounts(queue);
});

test("a file whose upload the server no longer knows begins anew", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server);
  const forgotten = new Set();
  server.fault = (name, when, upload) => {
    if (name !== "finish" || when !== "before" || forgotten.has(server.uploads.get(upload)?.key)) return;
    forgotten.add(server.uploads.get(upload).key);
    server.uploads.delete(upload);
  };
  queue.add([...files(3), ...smallFiles(3)]);
  queue.start();
  await settled(queue);
  assert.equal(queue.counts.saved, 6);
  checkCounts(queue);
});

test("a full disk stops everything until the person goes on", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server);
  let full = true;
  server.fault = (name) => {
    if (name === "send" && full) throw new Failure("room");
  };
  queue.add(files(5));
  queue.start();
  await settled(queue);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(queue.trouble, "room");
  assert.equal(queue.counts.failed, 0);
  full = false;
  queue.resume();
  await settled(queue);
  assert.equal(queue.counts.saved, 5);
});

test("a file that fails does not hold up the others, and can be tried again", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server);
  let broken = true;
  server.fault = (name, when, upload) => {
    if (name === "finish" && broken && upload.includes("3.jpg")) throw new Failure("failed");
  };
  queue.add(files(6));
  queue.start();
  await settled(queue);
  assert.equal(queue.counts.saved, 5);
  assert.equal(queue.counts.failed, 1);
  assert.equal(queue.items[3].error, "failed");
  broken = false;
  queue.retryAll();
  await settled(queue);
  assert.equal(queue.counts.saved, 6);
  checkCounts(queue);
});

test("files that are taken out are discarded on the server, and counted no more", async () => {
  const server = new FakeServer();
  const queue = makeQueue(server, { parallel: 1 });
  server.gate = (signal) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
  });
  queue.add(files(4));
  queue.start();
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  queue.remove(queue.items[2]);
  checkCounts(queue);
  queue.cancelAll();
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(queue.items.length, 0);
  assert.equal(server.uploads.size, 0);
  assert.equal(queue.counts.sending, 0);
  checkCounts(queue);
});

test("the time left follows the speed", async () => {
  const server = new FakeServer();
  let now = 0;
  const queue = makeQueue(server, { parallel: 1, now: () => (now += 500) });
  queue.add(files(1, 1000));
  const seen = [];
  queue.onChange(() => seen.push(queue.secondsLeft));
  queue.start();
  await settled(queue);
  const estimates = seen.filter((value) => value !== null);
  assert.ok(estimates.length > 3);
  assert.ok(estimates[0] > estimates.at(-1));
});
