// An agent made with the official TypeScript SDK, v2. The first block of a prompt says what it should do.
import * as acp from "@agentclientprotocol/sdk/experimental/v2";
import { ownStreams, story, text } from "./story.mjs";

const { file, command, question } = story;
const sessions = new Map();
let loggedIn = false;

class Session {
  constructor(id) {
    this.id = id;
    this.prompts = 0;
    this.options = { mode: "quick", web: false };
    this.cancelling = new AbortController();
    this.log = [];
  }

  get configOptions() {
    const modes = [{ value: "quick", name: "Quick" }, { value: story.mode.id, name: story.mode.name }];
    return [
      { configId: "mode", name: "Mode", category: "mode", type: "select", currentValue: this.options.mode, options: modes },
      { configId: "web", name: "Web", type: "boolean", currentValue: this.options.web },
    ];
  }
}

class Turn {
  constructor(session, client) {
    this.session = session;
    this.client = client;
  }

  tell(update) {
    this.session.log.push(update);
    return this.send(update);
  }

  send(update) {
    return this.client.notify(acp.methods.client.session.update, { sessionId: this.session.id, update });
  }

  state(state, members = {}) {
    return this.tell({ sessionUpdate: "state_update", state, ...members });
  }

  async say(texts, what = "agent_message") {
    const messageId = `${what}-${this.session.prompts}`;
    await this.tell({ sessionUpdate: what, messageId, content: [] });
    for (const each of texts) {
      await this.tell({ sessionUpdate: `${what}_chunk`, messageId, content: text(each) });
    }
  }

  plan(status) {
    const entries = story.plan.map((entry) => ({ ...entry, status }));
    return this.tell({ sessionUpdate: "plan_update", plan: { type: "items", planId: "main", entries } });
  }

  change(toolCallId, members) {
    return this.tell({ sessionUpdate: "tool_call_update", toolCallId, ...members });
  }

  async begin({ id, title, kind }) {
    await this.change(id, { title, kind, status: "pending" });
    await this.change(id, { status: "in_progress" });
  }

  async story() {
    await this.say(story.thought, "agent_thought");
    await this.plan("pending");
    await this.read(story.read);
    await this.edit(story.edit);
    await this.run(story.run);
    await this.question();
    await this.plan("completed");
    await this.say(story.message);
    await this.tell({ sessionUpdate: "usage_update", ...story.usage });
    await this.tell({ sessionUpdate: "session_info_update", title: story.title });
  }

  async read(call) {
    await this.begin(call);
    const content = { type: "content", content: text(file.before) };
    await this.tell({ sessionUpdate: "tool_call_content_chunk", toolCallId: call.id, content });
    await this.change(call.id, { status: "completed" });
  }

  async edit(call) {
    await this.begin(call);
    const changes = [{ operation: "modify", path: file.path, fileType: "text" }];
    await this.change(call.id, { content: [{ type: "diff", changes }] });
    const allowed = (await this.permission(call.id)) === "yes";
    await this.change(call.id, { status: allowed ? "completed" : "failed" });
  }

  async permission(toolCallId) {
    const options = story.options.map(({ id, name, kind }) => ({ optionId: id, name, kind }));
    const toolCall = { toolCallId, title: story.edit.title, status: "pending" };
    await this.state("requires_action");
    const answer = await this.client.request(
      acp.methods.client.session.requestPermission,
      {
        sessionId: this.session.id,
        title: "May the notes be changed?",
        subject: { type: "tool_call", toolCall },
        options,
      },
      { cancellationSignal: this.session.cancelling.signal, stopWaitingOnCancel: true },
    );
    await this.state("running");
    return answer.outcome.optionId;
  }

  async run(call) {
    const terminalId = "terminal-of-the-agent";
    await this.begin(call);
    await this.tell({ sessionUpdate: "terminal_update", terminalId, command: command.command, cwd: story.cwd });
    await this.change(call.id, { content: [{ type: "terminal", terminalId }] });
    const output = Buffer.from(command.output, "utf8");
    for (let place = 0; place < output.length; place += 5) {
      const data = output.subarray(place, place + 5).toString("base64");
      await this.tell({ sessionUpdate: "terminal_output_chunk", terminalId, data });
    }
    await this.tell({ sessionUpdate: "terminal_update", terminalId, exitStatus: { exitCode: command.code } });
    const rawOutput = { output: command.output, code: command.code };
    await this.change(call.id, { status: "completed", rawOutput });
  }

  async question() {
    const answer = await this.client.request(acp.methods.client.elicitation.create, {
      sessionId: this.session.id,
      mode: "form",
      message: question.message,
      requestedSchema: {
        type: "object",
        properties: { [question.field]: { type: "string" } },
        required: [question.field],
      },
    });
    if (answer.action !== "accept" || answer.content[question.field] !== question.answer) throw new Error("not answered");
  }

  async take(prompt, messageId) {
    await this.tell({ sessionUpdate: "user_message", messageId, content: prompt });
    await this.state("running");
    try {
      await this.state("idle", { stopReason: await this.act(prompt) });
    } catch (error) {
      if (this.session.cancelling.signal.aborted) {
        await this.state("idle", { stopReason: "cancelled" });
      } else {
        await this.state("idle", { stopReason: "error", error: { code: -32603, message: error.message } });
      }
    }
  }

  async act(prompt) {
    const [what, argument] = prompt[0].text.split(" ");
    if (what === "story") await this.story();
    else if (what === "many") await this.say(Array.from({ length: Number(argument) }, (_, number) => `${number} `));
    else if (what === "echo") await this.say([prompt[1].text]);
    else if (what === "wait") {
      await this.change("call-wait", { title: "Wait", status: "in_progress" });
      await new Promise((resolve) => this.session.cancelling.signal.addEventListener("abort", resolve));
      await this.change("call-wait", { status: "cancelled" });
      return "cancelled";
    } else if (what === "permission") return (await this.permission("call-unseen")) === "yes" ? "end_turn" : "cancelled";
    else if (what === "refuse") return "refusal";
    else if (what === "unknown") {
      await this.client.request("_accord/nothing", {}).catch((error) => this.say([`${error.code} ${error.data.method}`]));
    } else if (what === "fail") throw new Error("the model is gone");
    return "end_turn";
  }
}

function sessionOf(sessionId) {
  const session = sessions.get(sessionId);
  if (session === undefined) throw new acp.RequestError(-32002, "Session not found", { sessionId });
  return session;
}

const connection = acp
  .agent({ name: "official" })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    info: { name: "official", version: "2.4.0" },
    capabilities: { session: { prompt: { embeddedContext: {} } } },
    authMethods: [{ type: "agent", methodId: "key", name: "With a key" }],
  }))
  .onRequest(acp.methods.agent.auth.login, ({ params }) => {
    if (params.methodId !== "key") throw acp.RequestError.invalidParams({ methodId: params.methodId });
    loggedIn = true;
    return {};
  })
  .onRequest(acp.methods.agent.session.new, ({ params: { cwd } }) => {
    if (cwd === story.locked && !loggedIn) throw acp.RequestError.authRequired({ reason: "auth_required" });
    const session = new Session(`session-${sessions.size}`);
    sessions.set(session.id, session);
    const availableCommands = [{ type: "command", name: "review", description: "Look again" }];
    return { sessionId: session.id, configOptions: session.configOptions, availableCommands };
  })
  .onRequest(acp.methods.agent.session.resume, async ({ params: { sessionId, replayFrom }, client }) => {
    const session = sessionOf(sessionId);
    const turn = new Turn(session, client);
    if (replayFrom) {
      for (const update of session.log) if (update.sessionUpdate !== "state_update") await turn.send(update);
    }
    await turn.send({ sessionUpdate: "state_update", state: "idle" });
    return { configOptions: session.configOptions };
  })
  .onRequest(acp.methods.agent.session.list, () => ({
    sessions: [...sessions.keys()].map((sessionId) => ({ sessionId, cwd: story.cwd, title: story.title })),
  }))
  .onRequest(acp.methods.agent.session.setConfigOption, async ({ params, client }) => {
    const session = sessionOf(params.sessionId);
    session.options[params.configId] = params.value;
    const { configOptions } = session;
    await new Turn(session, client).tell({ sessionUpdate: "config_option_update", configOptions });
    return { configOptions };
  })
  .onRequest(acp.methods.agent.session.prompt, ({ params: { sessionId, prompt } }) => {
    const session = sessionOf(sessionId);
    session.cancelling = new AbortController();
    const messageId = `user-${++session.prompts}`;
    setImmediate(() => new Turn(session, connection.client).take(prompt, messageId));
    return { messageId };
  })
  .onNotification(acp.methods.agent.session.cancel, ({ params }) => sessionOf(params.sessionId).cancelling.abort())
  .connect(acp.ndJsonStream(...ownStreams()));
