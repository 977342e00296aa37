// The client of the official TypeScript SDK: the same command line, tasks and report as client_program.py.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { acp, load, streamOf, text } from "./typescript_sdk.mjs";

const { agent: methods, client: clients } = acp.methods;
const toolEvery = 10;
const number = (value) => ({ type: "string", default: String(value) });
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: number(1), laps: number(5), size: number(12), transport: { type: "string" } },
});
const [task] = positionals;
const [count, laps, size] = [values.count, values.laps, values.size].map(Number);

let expected = Infinity; // updates of the present turn that are still to come
let received = 0; // characters
let arrived; // resolves when the last update of a turn is handled

const app = acp.client({ name: "bench" }).onNotification(clients.session.update, ({ params: { update } }) => {
  if (update.sessionUpdate === "agent_message_chunk") received += update.content.text.length;
  if (--expected === 0) arrived();
});

// Takes one turn and returns the characters received. The SDK may handle a response before the updates that came
// ahead of it, so the turn ends with its last update.
async function prompt(agent, sessionId, count, size, every = 0) {
  received = 0;
  expected = count;
  const all = new Promise((resolve) => (arrived = resolve));
  await agent.request(methods.session.prompt, { sessionId, prompt: [text(`${count} ${size} ${every}`)] });
  await all;
  return received;
}

function cpuSeconds(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]));
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e9;
}

function peakBytes(pid) {
  return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;
}

const sum = (measure, pids) => pids.map(measure).reduce((total, each) => total + each, 0);
const median = (laps) => {
  const sorted = laps.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

async function turn(agent, sessionId, pids, every) {
  await prompt(agent, sessionId, every ? 20 : 10, 12, every);
  const cpu = sum(cpuSeconds, pids);
  const started = performance.now();
  const characters = await prompt(agent, sessionId, count, size, every);
  const seconds = (performance.now() - started) / 1e3;
  const wanted = (count - (every ? Math.ceil(count / every) : 0)) * size;
  if (characters !== wanted) throw new Error(`received ${characters} characters instead of ${wanted}`);
  return { seconds, cpu_seconds: sum(cpuSeconds, pids) - cpu, peak_bytes: sum(peakBytes, pids) };
}

async function timed(laps, action) {
  const times = [];
  for (let lap = 0; lap < laps; lap++) {
    const started = performance.now();
    await action();
    times.push((performance.now() - started) / 1e3);
  }
  return { median: median(times) };
}

async function converse(agent) {
  const { agentInfo } = await agent.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  const { sessionId } = await agent.request(methods.session.new, { cwd: "/", mcpServers: [] });
  const setMode = () => agent.request(methods.session.setMode, { sessionId, modeId: "ask" });
  const pids = [process.pid, Number(agentInfo.version)];
  for (let each = 0; each < 10; each++) await setMode();
  switch (task) {
    case "turn":
      return turn(agent, sessionId, pids, 0);
    case "mixed-turn":
      return turn(agent, sessionId, pids, toolEvery);
    case "round-trips":
      return timed(count, setMode);
    case "in-flight":
      return timed(laps, () => Promise.all(Array.from({ length: count }, setMode)));
    default:
      throw new Error(`no such task: ${task}`);
  }
}

const program = fileURLToPath(new URL("typescript_agent.mjs", import.meta.url));
const served = values.transport ? ["--http"] : [];
const child = spawn(process.execPath, [program, ...served], { stdio: ["pipe", "pipe", served.length ? "pipe" : "inherit"] });

// Over pipes, or over the network to the URL that the agent says first.
async function reach() {
  if (!values.transport) return streamOf(child.stdin, child.stdout);
  const line = await new Promise((resolve) => createInterface(child.stderr).once("line", resolve));
  const url = line.split(" ").at(-1);
  if (values.transport === "http") {
    const { createHttpStream } = await load("@agentclientprotocol/sdk/experimental/http-client");
    return createHttpStream(url);
  }
  const { createWebSocketStream } = await load("@agentclientprotocol/sdk/experimental/ws-client");
  const { default: WebSocket } = await load("ws");
  return createWebSocketStream(url.replace("http:", "ws:"), { WebSocket });
}

const readings = await app.connectWith(await reach(), converse);
child.kill();
console.log(JSON.stringify(readings));
