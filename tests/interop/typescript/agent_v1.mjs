// An agent made with the official TypeScript SDK, v1. The first block of a prompt says what it should do.
import * as acp from "@agentclientprotocol/sdk";
import { ownStreams, promised, story, text } from "./story.mjs";

const { file, command } = story;
const cancels = new Map();
let loggedIn = false;

class Turn {
  constructor(sessionId, client) {
    this.sessionId = sessionId;
    this.client = client;
  }

  tell(update) {
    return this.client.notify(acp.methods.client.session.update, { sessionId: this.sessionId, update });
  }

  ask(method, params) {
    return this.client.request(method, { sessionId: this.sessionId, ...params });
  }

  async say(texts, sessionUpdate = "agent_message_chunk") {
    for (const each of texts) await this.tell({ sessionUpdate, content: text(each) });
  }

  plan(status) {
    return this.tell({ sessionUpdate: "plan", entries: story.plan.map((entry) => ({ ...entry, status })) });
  }

  async begin({ id, title, kind }) {
    await this.tell({ sessionUpdate: "tool_call", toolCallId: id, title, kind, status: "pending" });
    await this.change(id, { status: "in_progress" });
  }

  change(toolCallId, members) {
    return this.tell({ sessionUpdate: "tool_call_update", toolCallId, ...members });
  }

  async story() {
    await this.say(story.thought, "agent_thought_chunk");
    await this.plan("pending");
    await this.read(story.read);
    await this.edit(story.edit);
    await this.run(story.run);
    await this.plan("completed");
    await this.say(story.message);
    await this.tell({ sessionUpdate: "usage_update", ...story.usage });
    await this.tell({ sessionUpdate: "session_info_update", title: story.title });
  }

  async read(call) {
    await this.begin(call);
    const answer = await this.ask(acp.methods.client.fs.readTextFile, { path: file.path, line: 1, limit: 2 });
    const content = [{ type: "content", content: text(answer.content) }];
    await this.change(call.id, { status: "completed", content });
  }

  async edit(call) {
    await this.begin(call);
    const diff = { type: "diff", path: file.path, oldText: file.before, newText: file.after };
    await this.change(call.id, { content: [diff] });
    if ((await this.permission(call.id)) === "yes") {
      await this.ask(acp.methods.client.fs.writeTextFile, { path: file.path, content: file.after });
      await this.change(call.id, { status: "completed" });
    } else {
      await this.change(call.id, { status: "failed" });
    }
  }

  async permission(toolCallId) {
    const options = story.options.map(({ id, name, kind }) => ({ optionId: id, name, kind }));
    const toolCall = { toolCallId, title: story.edit.title, status: "pending" };
    const answer = await this.ask(acp.methods.client.session.requestPermission, { toolCall, options });
    return answer.outcome.optionId;
  }

  async run(call) {
    await this.begin(call);
    const terminal = await this.client.createTerminal({
      sessionId: this.sessionId,
      command: command.command,
      args: command.args,
      env: [{ name: "LANG", value: "C" }],
      cwd: story.cwd,
      outputByteLimit: 1000,
    });
    await this.change(call.id, { content: [{ type: "terminal", terminalId: terminal.id }] });
    const ended = await terminal.waitForExit();
    const { output } = await terminal.currentOutput();
    await terminal.release();
    await this.change(call.id, { status: "completed", rawOutput: { output, code: ended.exitCode } });
  }
}

async function prompt({ params: { sessionId, prompt }, client }) {
  const turn = new Turn(sessionId, client);
  const cancelled = promised();
  cancels.set(sessionId, cancelled);
  const [what, argument] = prompt[0].text.split(" ");
  if (what === "story") await turn.story();
  else if (what === "many") await turn.say(Array.from({ length: Number(argument) }, (_, number) => `${number} `));
  else if (what === "echo") await turn.say([prompt[1].text]);
  else if (what === "wait") {
    await turn.tell({ sessionUpdate: "tool_call", toolCallId: "call-wait", title: "Wait", status: "in_progress" });
    await cancelled.promise;
    await turn.change("call-wait", { status: "failed" });
    return { stopReason: "cancelled" };
  } else if (what === "permission") {
    return { stopReason: (await turn.permission("call-unseen")) === "yes" ? "end_turn" : "cancelled" };
  } else if (what === "refuse") return { stopReason: "refusal" };
  else if (what === "unknown") {
    await client.request("_accord/nothing", {}).catch((error) => turn.say([`${error.code} ${error.data.method}`]));
  } else if (what === "fail") throw new Error("the model is gone");
  return { stopReason: "end_turn" };
}

function newSession({ params: { cwd } }) {
  if (cwd === story.locked && !loggedIn) throw acp.RequestError.authRequired({ reason: "auth_required" });
  const sessionId = `session-${cancels.size}`;
  cancels.set(sessionId, promised());
  const availableModes = [{ id: "quick", name: "Quick" }, story.mode];
  return { sessionId, modes: { currentModeId: "quick", availableModes } };
}

acp
  .agent({ name: "official" })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: "official", version: "2.4.0" },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { embeddedContext: true },
      sessionCapabilities: { list: {} },
    },
    authMethods: [{ id: "key", name: "With a key" }],
  }))
  .onRequest(acp.methods.agent.authenticate, ({ params }) => {
    if (params.methodId !== "key") throw acp.RequestError.invalidParams({ methodId: params.methodId });
    loggedIn = true;
    return {};
  })
  .onRequest(acp.methods.agent.session.new, newSession)
  .onRequest(acp.methods.agent.session.load, async ({ params: { sessionId }, client }) => {
    if (!cancels.has(sessionId)) throw acp.RequestError.resourceNotFound(sessionId);
    const turn = new Turn(sessionId, client);
    await turn.say(["story"], "user_message_chunk");
    await turn.say(story.message);
    return {};
  })
  .onRequest(acp.methods.agent.session.list, () => ({
    sessions: [...cancels.keys()].map((sessionId) => ({ sessionId, cwd: story.cwd, title: story.title })),
  }))
  .onRequest(acp.methods.agent.session.setMode, async ({ params: { sessionId, modeId }, client }) => {
    await new Turn(sessionId, client).tell({ sessionUpdate: "current_mode_update", currentModeId: modeId });
    return {};
  })
  .onRequest(acp.methods.agent.session.prompt, prompt)
  .onNotification(acp.methods.agent.session.cancel, ({ params }) => cancels.get(params.sessionId).settle())
  .connect(acp.ndJsonStream(...ownStreams()));
