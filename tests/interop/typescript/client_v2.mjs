// A client made with the official TypeScript SDK, v2. Starts the agent named by its arguments in the directory that
// comes first, talks with it about everything, and writes what it saw to stdout as one JSON object.
import { errorOf, Seen, reach, story, text } from "./story.mjs";

const acp = await import(process.env.ACP_ENTRY ?? "@agentclientprotocol/sdk/experimental/v2");
const { agent: methods, client: clients } = acp.methods;
const [cwd, ...command] = process.argv.slice(2);
const seen = new Seen();
const asItIs = (params) => params;
let chooses = "allow";
let answers;

const app = acp
  .client({ name: "official" })
  .onNotification(clients.session.update, ({ params }) => seen.note("session/update", params))
  .onRequest(clients.session.requestPermission, async ({ params, signal }) => {
    seen.note("session/request_permission", params);
    if (chooses !== null) return { outcome: { outcome: "selected", optionId: chooses } };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { outcome: { outcome: "cancelled" } };
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

  told(sessionUpdate, members = {}) {
    return seen.update(this.sessionId, { sessionUpdate, ...members });
  }

  taken() {
    return seen.taken(this.sessionId);
  }

  send(...blocks) {
    const prompt = blocks.map((block) => (typeof block === "string" ? text(block) : block));
    return this.inSession(methods.session.prompt, { prompt });
  }

  // A turn ends with the idle state; what was seen is in the order of the wire.
  async prompt(...blocks) {
    const { messageId } = await this.send(...blocks);
    await this.told("state_update", { state: "idle" });
    return { messageId, updates: this.taken() };
  }

  async textOf(...blocks) {
    const { updates } = await this.prompt(...blocks);
    const pieces = updates.filter((each) => each.sessionUpdate === "agent_message_chunk");
    return pieces.map(({ content }) => content.text).join("");
  }

  async begin() {
    const { report } = this;
    report.initialize = await this.request(methods.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      info: { name: "official", version: "2.4.0" },
      capabilities: { elicitation: { form: {}, url: {} } },
    });
    report.locked = await errorOf(this.request(methods.session.new, { cwd }));
    report.login = await errorOf(this.request(methods.auth.login, { methodId: "none" }));
    await this.request(methods.auth.login, { methodId: "key" });
    await this.request(methods.auth.logout);
    report.lockedAgain = await errorOf(this.request(methods.session.new, { cwd }));
    await this.request(methods.auth.login, { methodId: "key" });
    const { sessionId, ...opened } = await this.request(methods.session.new, { cwd });
    this.sessionId = sessionId;
    report.opened = opened;
    await this.told("available_commands_update");
    report.announced = this.taken();
    report.errors = {
      relative: await errorOf(this.request(methods.session.new, { cwd: "relative" })),
      method: await errorOf(this.request("_accord/nothing")),
      params: await errorOf(this.request("session/prompt", { sessionId: 1 })),
      session: await errorOf(this.request(methods.session.prompt, { sessionId: "none", prompt: [text("story")] })),
      boom: await errorOf(this.request("_accord/boom")),
    };
  }

  async story() {
    const { report } = this;
    report.story = await this.prompt("story");
    chooses = "reject";
    report.afterRejection = (await this.prompt("story")).updates;
  }

  async contents() {
    const { report } = this;
    const { updates } = await this.prompt("echo", ...story.blocks);
    const pieces = updates.filter((each) => each.sessionUpdate === "agent_message_chunk");
    report.echoed = pieces.map(({ content }) => content);
    const big = "größe 🐘 ".repeat(300000);
    report.big = (await this.textOf("echo", big)) === big;
    report.many = await this.textOf("many 200");
    report.reasons = [];
    for (const reason of ["end_turn", "max_tokens", "max_turn_requests", "refusal"]) {
      report.reasons.push((await this.prompt(`stop ${reason}`)).updates.at(-1).stopReason);
    }
    report.failed = (await this.prompt("fail")).updates.at(-1);
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
    report.unknown = JSON.parse(await this.textOf("extend _accord/nothing"));
    await seen.until((what) => what === "_accord/highlight");
    report.missing = await this.textOf("missing");
    report.command = await this.textOf("/review größe.py");
    report.slept = (await this.prompt("sleep")).updates;
  }

  async cancels() {
    const { report } = this;
    await this.send("wait");
    await this.told("tool_call_update");
    report.cancelCall = await errorOf(this.inSession(methods.toolCall.cancel, { toolCallId: "call-wait" }));
    await this.agent.notify(methods.session.cancel, { sessionId: this.sessionId });
    await this.told("state_update", { state: "idle" });
    report.cancelled = this.taken();
    chooses = null;
    await this.send("permit nothing");
    await seen.until((what) => what === "session/request_permission");
    await this.agent.notify(methods.session.cancel, { sessionId: this.sessionId });
    await this.told("state_update", { state: "idle" });
    report.cancelledQuestion = this.taken().at(-1).stopReason;
  }

  async settings() {
    const { report } = this;
    const options = [
      { configId: "mode", type: "id", value: story.mode.id },
      { configId: "mode", type: "id", value: "quick" },
      { configId: "web", type: "boolean", value: true },
      { configId: "model", type: "id", value: "fast" },
    ];
    for (const option of options) {
      report.options = (await this.inSession(methods.session.setConfigOption, option)).configOptions;
    }
    const none = { configId: "none", type: "id", value: "x" };
    report.noOption = await errorOf(this.inSession(methods.session.setConfigOption, none));
    report.settled = this.taken();
    report.known = JSON.parse(await this.textOf("known"));
  }

  async takeUp() {
    const { report } = this;
    report.list = await this.request(methods.session.list, { cwd });
    await this.inSession(methods.session.close);
    report.afterClose = await errorOf(this.send("story"));
    this.taken();
    await this.inSession(methods.session.resume, { cwd, replayFrom: { type: "start" } });
    await this.told("state_update");
    report.loaded = this.taken();
    await this.inSession(methods.session.close);
    await this.inSession(methods.session.resume, { cwd });
    await this.told("state_update");
    report.silent = this.taken();
    report.resumed = await this.textOf("/review it");
    if (methods.session.fork) {
      report.forked = (await this.inSession(methods.session.fork, { cwd })).sessionId !== this.sessionId;
    }
    await this.inSession(methods.session.delete);
    report.afterDelete = await this.request(methods.session.list);
    report.loadDeleted = await errorOf(this.inSession(methods.session.resume, { cwd }));
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
