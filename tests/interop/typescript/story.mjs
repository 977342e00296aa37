// The words of the story, and how a script reaches its stdin and stdout, or those of a program it starts.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

export const story = JSON.parse(
  readFileSync(new URL("../../conversations/story.json", import.meta.url), "utf8"),
);

export const text = (text) => ({ type: "text", text });

export function ownStreams() {
  return [Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)];
}

// The program ends when its input does; if not, it is ended. `end` tells its exit code.
export function start([command, ...args]) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const end = async () => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), 20000);
    const code = await ended;
    clearTimeout(timer);
    return code;
  };
  return { streams: [Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)], end };
}

// How a client reaches its agent: a URL, or a command that it starts.
export async function reach(acp, command) {
  const end = async () => 0;
  if (command[0].startsWith("http")) {
    const { createHttpStream } = await import("@agentclientprotocol/sdk/experimental/http-client");
    return { stream: createHttpStream(command[0]), end };
  }
  if (command[0].startsWith("ws")) {
    const { createWebSocketStream } = await import("@agentclientprotocol/sdk/experimental/ws-client");
    const { WebSocket } = await import("ws");
    return { stream: createWebSocketStream(command[0], { WebSocket }), end };
  }
  const program = start(command);
  return { stream: acp.ndJsonStream(...program.streams), end: program.end };
}

// How an agent is reached: over stdin and stdout, or with ACP_HTTP over HTTP and WebSocket, where it says its URL.
export async function serve(acp, app) {
  if (!process.env.ACP_HTTP) return app.connect(acp.ndJsonStream(...ownStreams()));
  const { AcpServer } = await import("@agentclientprotocol/sdk/experimental/server");
  const node = await import("@agentclientprotocol/sdk/experimental/node");
  const { WebSocketServer } = await import("ws");
  const { createServer } = await import("node:http");
  const newest = {};
  const agent = {
    connect(stream, options) {
      const connection = app.connect(stream, options);
      newest.client = connection.client;
      return connection;
    },
  };
  const server = new AcpServer({ agent });
  const http = createServer(node.createNodeHttpHandler(server));
  http.on("upgrade", node.createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
  http.listen(0, "127.0.0.1", () => {
    process.stderr.write(`listens on http://127.0.0.1:${http.address().port}/acp\n`);
  });
  return newest;
}

// A command that a terminal of a client runs.
export function spawned({ command, args = [], env = [], cwd }) {
  const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const child = spawn(command, args, { cwd, env: { ...process.env, ...variables }, stdio: ["ignore", "pipe", "inherit"] });
  const pieces = [];
  child.stdout.on("data", (piece) => pieces.push(piece));
  const ended = new Promise((resolve) => child.once("close", (exitCode, signal) => resolve({ exitCode, signal })));
  return { ended, output: () => Buffer.concat(pieces).toString("utf8"), kill: () => child.kill("SIGKILL") };
}

// A value that somebody waits for until it is there.
export function promised() {
  let settle;
  const promise = new Promise((resolve) => (settle = resolve));
  return { promise, settle };
}

export async function errorOf(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return { code: error.code, data: error.data ?? null };
  }
}

// What a client saw, in order. The SDK handles updates after the answers that overtake them, so whoever wants to see
// all of a turn waits for the one that comes last.
export class Seen {
  #all = [];
  #waiting = [];

  note(what, params) {
    this.#all.push({ what, params });
    for (const { is, settle } of [...this.#waiting]) if (is(what, params)) settle();
  }

  async until(is) {
    if (this.#all.some(({ what, params }) => is(what, params))) return;
    const { promise, settle } = promised();
    this.#waiting.push({ is, settle });
    await promise;
  }

  update(sessionId, has) {
    return this.until(
      (what, params) =>
        params.sessionId === sessionId &&
        params.update !== undefined &&
        Object.entries(has).every(([key, value]) => params.update[key] === value),
    );
  }

  taken(sessionId) {
    const all = this.#all.filter(({ params }) => params.sessionId === sessionId);
    this.#all = this.#all.filter(({ params }) => params.sessionId !== sessionId);
    return all.map(({ what, params }) => ({ what, ...(params.update ?? params) }));
  }
}
