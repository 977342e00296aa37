// A client made with the official TypeScript SDK, v1. Starts the agent named by its arguments in the directory that
// comes first, talks with it about everything, and writes what it saw to stdout as one JSON object.
import { basename, join } from "node:path";
import { errorOf, promised, Seen, spawned, reach, story, text } from "./story.mjs";

// With what is stable, or with all there is.
const acp = await import(process.env.ACP_ENTRY ?? "@agentclientprotocol/sdk");
const { agent: methods, client: clients } = acp.methods;
const [cwd, ...command] = process.argv.slice(2);
const file = join(cwd, basename(story.file.path));
const files = new Map([[file, story.file.before]]);
const terminals = new Map();
const seen = new Seen();
const cancelled = promised();
const asItIs = (params) => params;
let chooses = "allow";
let answers;

const app = acp
  .client({ name: "official" })
  .onNotification(clients.session.update, ({ params }) => seen.note("session/update", params))
  .onRequest(clients.session.requestPermission, async ({ params }) => {
    seen.note("session/request_permission", params);
    if (chooses !== null) return { outcome: { outcome: "selected", optionId: chooses } };
    await cancelled.promise;
    return { outcome: { outcome: "cancelled" } };
  })
  .onRequest(clients.fs.readTextFile, ({ params }) => {
    seen.note("fs/read_text_file", params);
    if (!files.has(params.path)) throw acp.RequestError.resourceNotFound(params.path);
    return { content: files.get(params.path) };
  })
  .onRequest(clients.fs.writeTextFile, ({ params }) => {
    seen.note("fs/write_text_file", params);
    files.set(params.path, params.content);
    return {};
  })
  .onRequest(clients.terminal.create, ({ params }) => {
    seen.note("terminal/create", params);
    const terminalId = `terminal-${terminals.size}`;
    terminals.set(terminalId, spawned(params));
    return { terminalId };
  })
  .onRequest(clients.terminal.waitForExit, ({ params }) => {
    seen.note("terminal/wait_for_exit", params);
    return terminals.get(params.terminalId).ended;
  })
  .onRequest(clients.terminal.output, ({ params }) => {
    seen.note("terminal/output", params);
    return { output: terminals.get(params.terminalId).output(), truncated: false };
  })
  .onRequest(clients.terminal.kill, ({ params }) => {
    seen.note("terminal/kill", params);
    terminals.get(params.terminalId).kill();
    return {};
  })
  .onRequest(clients.terminal.release, ({ params }) => {
    seen.note("terminal/release", params);
    return {};
  })
  .onRequest(clients.elicitation.create, ({ params }) => {
    seen.note("elicitation/create", params);
    return answers;
  })
  .onRequest("_accord/pick", asItIs, ({ params }) => ({ picked: params.from.at(-1) }))
  .onNotification("_accord/highlight", asItIs, ({ params }) => seen.note("_accord/highlight", params));

class Conversation {
  constructor(agent) {
    this.agent = agent;
    this.report = {};
  }

  request(method, params = {}) {
    return this.agent.request(method, params);
  }

  inSession(method, params = {}) {
    return this.agent.request(method, { sessionId: this.sessionId, ...params });
  }

  async prompt(...blocks) {
    const prompt = blocks.map((block) => (typeof block === "string" ? text(block) : block));
    return (await this.inSession(methods.session.prompt, { prompt })).stopReason;
  }

  told(sessionUpdate, members = {}) {
    return seen.update(this.sessionId, { sessionUpdate, ...members });
  }

  taken() {
    return seen.taken(this.sessionId);
  }

  // What the agent says to a prompt, in one piece.
  async textOf(...blocks) {
    this.taken();
    await this.prompt(...blocks);
    await this.told("agent_message_chunk");
    const { content } = this.taken().find((each) => each.sessionUpdate === "agent_message_chunk");
    return content.text;
  }

  async begin() {
    const { report } = this;
    const place = { cwd, mcpServers: [] };
    report.initialize = await this.request(methods.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientInfo: { name: "official", version: "2.4.0" },
      clientCapabilities: {
        fs: { readTextFile: true, writeTextFile: true },
        terminal: true,
        elicitation: { form: {}, url: {} },
        session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
      },
    });
    report.locked = await errorOf(this.request(methods.session.new, place));
    report.login = await errorOf(this.request(methods.authenticate, { methodId: "none" }));
    await this.request(methods.authenticate, { methodId: "key" });
    await this.request(methods.logout);
    report.lockedAgain = await errorOf(this.request(methods.session.new, place));
    await this.request(methods.authenticate, { methodId: "key" });
    const { sessionId, ...opened } = await this.request(methods.session.new, place);
    this.sessionId = sessionId;
    report.opened = opened;
    await this.told("available_commands_update");
    report.announced = this.taken();
    report.errors = {
      relative: await errorOf(this.request(methods.session.new, { cwd: "relative", mcpServers: [] })),
      method: await errorOf(this.request("_accord/nothing")),
      params: await errorOf(this.request("session/prompt", { sessionId: 1 })),
      session: await errorOf(this.request(methods.session.prompt, { sessionId: "none", prompt: [text("story")] })),
      boom: await errorOf(this.request("_accord/boom")),
    };
  }

  async story() {
    const { report } = this;
    report.stopReason = await this.prompt("story");
    await this.told("session_info_update");
    report.story = this.taken();
    report.file = files.get(file);
    chooses = "reject";
    files.set(file, story.file.before);
    await this.prompt("story");
    await this.told("session_info_update");
    report.afterRejection = this.taken();
    report.fileAfterRejection = files.get(file);
  }

  async contents() {
    const { report } = this;
    await this.prompt("echo", ...story.blocks, "the end");
    await seen.until((_, params) => params.update?.content?.text === "the end");
    report.echoed = this.taken().slice(0, -1).map(({ content }) => content);
    const big = "größe 🐘 ".repeat(300000);
    report.big = (await this.textOf("echo", big)) === big;
    this.taken();
    await this.prompt("many 200");
    await seen.until((_, params) => params.update?.content?.text === "199 ");
    report.many = this.taken().map(({ content }) => content.text).join("");
    report.reasons = [];
    for (const reason of ["end_turn", "max_tokens", "max_turn_requests", "refusal"]) {
      report.reasons.push(await this.prompt(`stop ${reason}`));
    }
    report.failed = await errorOf(this.prompt("fail"));
  }

  async questions() {
    const { report } = this;
    report.permitted = {};
    for (chooses of ["allow", "allow-always", "reject", "reject-always", "never-offered"]) {
      report.permitted[chooses] = await this.textOf(`permit ${chooses}`);
    }
    chooses = "reject";
    report.remembered = {};
    for (const tool of ["allow", "allow-always", "reject-always"]) {
      report.remembered[tool] = await this.textOf(`permit ${tool}`);
    }
    report.answered = [];
    const { field, answer } = story.question;
    for (answers of [{ action: "accept", content: { [field]: answer } }, { action: "decline" }, { action: "cancel" }]) {
      report.answered.push(JSON.parse(await this.textOf("ask")));
    }
    answers = { action: "accept" };
    report.address = JSON.parse(await this.textOf("open"));
  }

  async extensions() {
    const { report } = this;
    report.extension = await this.request("_accord/echo", { größe: [1, null] });
    await this.agent.notify("_accord/note", { text: "größe" });
    report.picked = JSON.parse(await this.textOf("extend _accord/pick"));
    await seen.until((what) => what === "_accord/highlight");
    report.unknown = JSON.parse(await this.textOf("extend _accord/nothing"));
    report.missing = await this.textOf("missing");
    report.command = await this.textOf("/review größe.py");
    await this.prompt("sleep");
    await this.told("agent_message_chunk");
    report.slept = this.taken();
  }

  async cancels() {
    const { report } = this;
    const waits = this.prompt("wait");
    await this.told("tool_call_update");
    await this.agent.notify(methods.session.cancel, { sessionId: this.sessionId });
    report.cancelled = await waits;
    await this.told("tool_call_update", { status: "failed" });
    this.taken();
    chooses = null;
    const asks = this.prompt("permit nothing");
    await seen.until((what) => what === "session/request_permission");
    await this.agent.notify(methods.session.cancel, { sessionId: this.sessionId });
    report.cancelledQuestion = await asks;
    cancelled.settle();
    this.taken();
  }

  async settings() {
    const { report } = this;
    await this.inSession(methods.session.setMode, { modeId: "quick" });
    await this.told("current_mode_update");
    report.mode = this.taken().find((each) => each.sessionUpdate === "current_mode_update").currentModeId;
    const options = [
      { configId: "mode", value: story.mode.id },
      { configId: "mode", value: "quick" },
      { configId: "web", type: "boolean", value: true },
      { configId: "model", value: "fast" },
    ];
    for (const option of options) {
      report.options = (await this.inSession(methods.session.setConfigOption, option)).configOptions;
    }
    report.noOption = await errorOf(this.inSession(methods.session.setConfigOption, { configId: "none", value: "x" }));
    report.known = JSON.parse(await this.textOf("known"));
  }

  async takeUp() {
    const { report } = this;
    const place = { cwd, mcpServers: [] };
    report.list = await this.request(methods.session.list, { cwd });
    await this.inSession(methods.session.close);
    report.afterClose = await errorOf(this.prompt("story"));
    this.taken();
    await this.inSession(methods.session.load, place);
    await this.told("session_info_update");
    report.loaded = this.taken();
    await this.inSession(methods.session.close);
    await this.inSession(methods.session.resume, place);
    report.resumed = await this.textOf("/review it");
    if (methods.session.fork) {
      report.forked = (await this.inSession(methods.session.fork, place)).sessionId !== this.sessionId;
    }
    await this.inSession(methods.session.delete);
    report.afterDelete = await this.request(methods.session.list);
    report.loadDeleted = await errorOf(this.inSession(methods.session.load, place));
  }

  async talk() {
    await this.begin();
    await this.story();
    await this.contents();
    await this.questions();
    await this.extensions();
    await this.cancels();
    await this.settings();
    await this.takeUp();
    return this.report;
  }
}

const { stream, end } = await reach(acp, command);
const report = await app.connectWith(stream, (agent) => new Conversation(agent).talk());
report.exitCode = await end();
process.stdout.write(JSON.stringify(report));
