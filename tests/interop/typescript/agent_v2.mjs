// An agent made with the official TypeScript SDK, v2. The first block of a prompt says what it should do; it tells what
// it has received when it is asked for it by an extension, `_accord/seen`.
import { basename, join } from "node:path";
import { errorOf, serve, story, text } from "./story.mjs";

const acp = await import(process.env.ACP_ENTRY ?? "@agentclientprotocol/sdk/experimental/v2");
const { agent: methods, client: clients } = acp.methods;
const { file, command, question } = story;
const page = 2;
const sessions = new Map();
const seen = [];
let opened = 0;
let loggedIn = false;

class Session {
  constructor(cwd, log) {
    this.id = `session-${opened++}`;
    this.cwd = cwd;
    this.log = log;
    this.prompts = 0;
    this.values = { mode: "quick", web: false };
    this.cancelling = new AbortController();
    sessions.set(this.id, this);
  }

  get configOptions() {
    const { mode, web } = this.values;
    const options = [{ value: "quick", name: "Quick" }, { value: story.mode.id, name: story.mode.name }];
    return [
      { configId: "mode", name: "Mode", category: "mode", type: "select", currentValue: mode, options },
      { configId: "web", name: "Web", type: "boolean", currentValue: web },
    ];
  }
}

function sessionOf({ sessionId }) {
  const session = sessions.get(sessionId);
  if (session === undefined) throw new acp.RequestError(-32002, "Session not found", { sessionId });
  return session;
}

// Each method is something that a prompt can ask for; it gets the blocks after the first, and the words in it.
class Turn {
  constructor(session, client) {
    this.session = session;
    this.client = client;
    this.path = join(session.cwd, basename(file.path));
  }

  tells(update) {
    if (update.sessionUpdate !== "state_update") this.session.log.push(update);
    return this.client.notify(clients.session.update, { sessionId: this.session.id, update });
  }

  state(state, members = {}) {
    return this.tells({ sessionUpdate: "state_update", state, ...members });
  }

  async say(texts, what = "agent_message") {
    const messageId = `${what}-${this.session.prompts}`;
    for (const each of texts) {
      await this.tells({ sessionUpdate: `${what}_chunk`, messageId, content: text(each) });
    }
  }

  plan(status) {
    const entries = story.plan.map((entry) => ({ ...entry, status }));
    return this.tells({ sessionUpdate: "plan_update", plan: { type: "items", planId: "main", entries } });
  }

  change(toolCallId, members) {
    return this.tells({ sessionUpdate: "tool_call_update", toolCallId, ...members });
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
    await this.tells({ sessionUpdate: "usage_update", ...story.usage });
    await this.tells({ sessionUpdate: "session_info_update", title: story.title });
  }

  async read(call) {
    await this.begin(call);
    const content = { type: "content", content: text(file.before) };
    await this.tells({ sessionUpdate: "tool_call_content_chunk", toolCallId: call.id, content });
    await this.change(call.id, { status: "completed" });
  }

  async edit(call) {
    await this.begin(call);
    const changes = [{ operation: "modify", path: this.path, fileType: "text" }];
    await this.change(call.id, { content: [{ type: "diff", changes }] });
    const options = story.options.map(({ id, name, kind }) => ({ optionId: id, name, kind }));
    const toolCall = { toolCallId: call.id, title: call.title, status: "pending" };
    const outcome = await this.permit({ title: "May the notes be changed?", toolCall, options });
    await this.change(call.id, { status: outcome.optionId === "yes" ? "completed" : "failed" });
  }

  async permit({ title, toolCall, options }) {
    await this.state("requires_action");
    const asked = { sessionId: this.session.id, title, subject: { type: "tool_call", toolCall }, options };
    const { outcome } = await this.client.request(clients.session.requestPermission, asked, {
      cancellationSignal: this.session.cancelling.signal,
      stopWaitingOnCancel: true,
    });
    await this.state("running");
    return outcome;
  }

  async run(call) {
    const terminalId = "terminal-of-the-agent";
    await this.begin(call);
    await this.tells({ sessionUpdate: "terminal_update", terminalId, command: command.command, cwd: this.session.cwd });
    await this.change(call.id, { content: [{ type: "terminal", terminalId }] });
    const output = Buffer.from(command.output, "utf8");
    for (let place = 0; place < output.length; place += 5) {
      const data = output.subarray(place, place + 5).toString("base64");
      await this.tells({ sessionUpdate: "terminal_output_chunk", terminalId, data });
    }
    await this.tells({ sessionUpdate: "terminal_update", terminalId, exitStatus: { exitCode: command.code } });
    const rawOutput = { output: command.output, code: command.code };
    await this.change(call.id, { status: "completed", rawOutput });
  }

  async question() {
    const answer = await this.client.request(clients.elicitation.create, {
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

  async tell([updates]) {
    for (const update of JSON.parse(updates.text)) await this.tells(update);
  }

  async echo(blocks) {
    const messageId = `echo-${this.session.prompts}`;
    for (const content of blocks) await this.tells({ sessionUpdate: "agent_message_chunk", messageId, content });
  }

  async many(_, count) {
    await this.say(Array.from({ length: Number(count) }, (_, number) => `${number} `));
  }

  async ask([params], method) {
    let answer;
    const asked = { sessionId: this.session.id, ...JSON.parse(params.text) };
    const error = await errorOf(this.client.request(method, asked).then((result) => (answer = result)));
    await this.say([JSON.stringify(error === null ? { result: answer } : { error })]);
  }

  async notify([params], method) {
    await this.client.notify(method, JSON.parse(params.text));
  }

  async wait() {
    await this.change("call-wait", { title: "Wait", status: "in_progress", capabilities: { cancel: {} } });
    const { signal } = this.session.cancelling;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await this.change("call-wait", { status: "cancelled" });
    return signal.reason === "one call" ? "end_turn" : "cancelled";
  }

  async permission() {
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const toolCall = { toolCallId: "call-unseen", title: story.edit.title, status: "pending" };
    const outcome = await this.permit({ title: "May it?", toolCall, options });
    return outcome.outcome === "selected" ? "end_turn" : "cancelled";
  }

  stop(_, reason) {
    return reason;
  }

  fail() {
    throw new Error("the model is gone");
  }

  async take(prompt, messageId) {
    await this.tells({ sessionUpdate: "user_message", messageId, content: prompt });
    await this.state("running");
    const [first, ...blocks] = prompt;
    const [what, ...words] = first.text.split(" ");
    try {
      await this.state("idle", { stopReason: (await this[what](blocks, ...words)) ?? "end_turn" });
    } catch (error) {
      if (this.session.cancelling.signal.aborted) {
        await this.state("idle", { stopReason: "cancelled" });
      } else {
        await this.state("idle", { stopReason: "error", error: { code: -32603, message: error.message } });
      }
    }
  }
}

function list({ params }) {
  const kept = [...sessions.values()].filter(({ cwd }) => [undefined, null, cwd].includes(params.cwd));
  const begin = Number(params.cursor ?? 0);
  const end = begin + page;
  return {
    sessions: kept.slice(begin, end).map(({ id, cwd }) => ({ sessionId: id, cwd, title: story.title })),
    ...(end < kept.length ? { nextCursor: String(end) } : {}),
  };
}

const initialized = {
  protocolVersion: acp.PROTOCOL_VERSION,
  info: { name: "official", version: "2.4.0", title: "Größe" },
  capabilities: {
    session: {
      prompt: { image: {}, audio: {}, embeddedContext: {} },
      mcp: { stdio: {}, http: {} },
      delete: {},
      additionalDirectories: {},
      ...(methods.session.fork ? { fork: {} } : {}),
    },
    _meta: { "accord.test": { seen: true } },
  },
  authMethods: [{ type: "agent", methodId: "key", name: "With a key" }],
};

const app = acp.agent({ name: "official" });

function on(method, handler) {
  app.onRequest(method, (context) => {
    seen.push({ method, params: context.params });
    return handler(context);
  });
}

on(methods.initialize, () => initialized);
on(methods.auth.login, ({ params }) => {
  if (params.methodId !== "key") throw acp.RequestError.invalidParams({ methodId: params.methodId });
  loggedIn = true;
  return {};
});
on(methods.auth.logout, () => {
  loggedIn = false;
  return {};
});
on(methods.session.new, ({ params: { cwd } }) => {
  if (basename(cwd) === basename(story.locked) && !loggedIn) {
    throw acp.RequestError.authRequired({ reason: "auth_required" });
  }
  const { id, configOptions } = new Session(cwd, []);
  const availableCommands = [{ type: "command", name: "review", description: "Look again" }];
  return { sessionId: id, configOptions, availableCommands };
});
if (methods.session.fork) {
  on(methods.session.fork, ({ params }) => ({ sessionId: new Session(params.cwd, [...sessionOf(params).log]).id }));
}
on(methods.session.resume, async ({ params, client }) => {
  const session = sessionOf(params);
  const tell = (update) => client.notify(clients.session.update, { sessionId: session.id, update });
  if (params.replayFrom) for (const update of session.log) await tell(update);
  await tell({ sessionUpdate: "state_update", state: "idle" });
  return { configOptions: session.configOptions };
});
on(methods.session.close, ({ params }) => {
  sessionOf(params).cancelling.abort();
  return {};
});
on(methods.session.delete, ({ params }) => {
  sessions.delete(sessionOf(params).id);
  return {};
});
on(methods.session.list, list);
on(methods.session.setConfigOption, async ({ params, client }) => {
  const session = sessionOf(params);
  if (!(params.configId in session.values)) throw acp.RequestError.invalidParams({ field: "configId" });
  session.values[params.configId] = params.value;
  const { configOptions } = session;
  await new Turn(session, client).tells({ sessionUpdate: "config_option_update", configOptions });
  return { configOptions };
});
on(methods.session.prompt, ({ params }) => {
  const session = sessionOf(params);
  session.cancelling = new AbortController();
  const messageId = `user-${++session.prompts}`;
  setImmediate(() => new Turn(session, connection.client).take(params.prompt, messageId));
  return { messageId };
});
on(methods.toolCall.cancel, ({ params }) => {
  sessionOf(params).cancelling.abort("one call");
  return {};
});
on(methods.terminal.cancel, () => ({}));

const asItIs = (params) => params;
app
  .onNotification(methods.session.cancel, ({ params }) => {
    seen.push({ method: methods.session.cancel, params });
    sessionOf(params).cancelling.abort();
  })
  .onRequest("_accord/seen", asItIs, () => ({ seen }))
  .onRequest("_accord/echo", asItIs, ({ params }) => params)
  .onRequest("_accord/boom", asItIs, () => {
    throw new Error("the secret cause");
  })
  .onNotification("_accord/note", asItIs, ({ params }) => seen.push({ method: "_accord/note", params }))
  .onNotification("_accord/tell", asItIs, async ({ params, client }) => {
    for (const update of params.updates) await new Turn(sessionOf(params), client).tells(update);
  });

const connection = await serve(acp, app);
