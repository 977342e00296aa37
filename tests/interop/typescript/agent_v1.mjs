// An agent made with the official TypeScript SDK, v1. The first block of a prompt says what it should do; it tells what
// it has received when it is asked for it by an extension, `_accord/seen`.
import { basename, join } from "node:path";
import { errorOf, promised, serve, story, text } from "./story.mjs";

// With what is stable, or with all there is.
const acp = await import(process.env.ACP_ENTRY ?? "@agentclientprotocol/sdk");
const { agent: methods, client: clients } = acp.methods;
const { file, command } = story;
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
    this.cancelled = promised();
    this.values = { mode: "quick", web: false };
    sessions.set(this.id, this);
  }

  get settings() {
    const { mode, web } = this.values;
    const availableModes = [{ id: "quick", name: "Quick" }, story.mode];
    const options = availableModes.map(({ id, name }) => ({ value: id, name }));
    const configOptions = [
      { id: "mode", name: "Mode", category: "mode", type: "select", currentValue: mode, options },
      { id: "web", name: "Web", type: "boolean", currentValue: web },
    ];
    return { modes: { currentModeId: mode, availableModes }, configOptions };
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
    this.session.log.push(update);
    return this.client.notify(clients.session.update, { sessionId: this.session.id, update });
  }

  request(method, params) {
    return this.client.request(method, { sessionId: this.session.id, ...params });
  }

  async say(texts, sessionUpdate = "agent_message_chunk") {
    for (const each of texts) await this.tells({ sessionUpdate, content: text(each) });
  }

  plan(status) {
    return this.tells({ sessionUpdate: "plan", entries: story.plan.map((entry) => ({ ...entry, status })) });
  }

  async begin({ id, title, kind }) {
    await this.tells({ sessionUpdate: "tool_call", toolCallId: id, title, kind, status: "pending" });
    await this.change(id, { status: "in_progress" });
  }

  change(toolCallId, members) {
    return this.tells({ sessionUpdate: "tool_call_update", toolCallId, ...members });
  }

  async story() {
    await this.say(story.thought, "agent_thought_chunk");
    await this.plan("pending");
    await this.read(story.read);
    await this.edit(story.edit);
    await this.run(story.run);
    await this.plan("completed");
    await this.say(story.message);
    await this.tells({ sessionUpdate: "usage_update", ...story.usage });
    await this.tells({ sessionUpdate: "session_info_update", title: story.title });
  }

  async read(call) {
    await this.begin(call);
    const answer = await this.request(clients.fs.readTextFile, { path: this.path, line: 1, limit: 2 });
    const content = [{ type: "content", content: text(answer.content) }];
    await this.change(call.id, { status: "completed", content });
  }

  async edit(call) {
    await this.begin(call);
    const diff = { type: "diff", path: this.path, oldText: file.before, newText: file.after };
    await this.change(call.id, { content: [diff] });
    const options = story.options.map(({ id, name, kind }) => ({ optionId: id, name, kind }));
    const toolCall = { toolCallId: call.id, title: call.title, status: "pending" };
    const { outcome } = await this.request(clients.session.requestPermission, { toolCall, options });
    if (outcome.optionId === "yes") {
      await this.request(clients.fs.writeTextFile, { path: this.path, content: file.after });
      await this.change(call.id, { status: "completed" });
    } else {
      await this.change(call.id, { status: "failed" });
    }
  }

  async run(call) {
    await this.begin(call);
    const terminal = await this.client.createTerminal({
      sessionId: this.session.id,
      command: command.command,
      args: command.args,
      env: [{ name: "LANG", value: "C" }],
      cwd: this.session.cwd,
      outputByteLimit: 1000,
    });
    await this.change(call.id, { content: [{ type: "terminal", terminalId: terminal.id }] });
    const ended = await terminal.waitForExit();
    const { output } = await terminal.currentOutput();
    await terminal.release();
    await this.change(call.id, { status: "completed", rawOutput: { output, code: ended.exitCode } });
  }

  async tell([updates]) {
    for (const update of JSON.parse(updates.text)) await this.tells(update);
  }

  async echo(blocks) {
    for (const content of blocks) await this.tells({ sessionUpdate: "agent_message_chunk", content });
  }

  async many(_, count) {
    await this.say(Array.from({ length: Number(count) }, (_, number) => `${number} `));
  }

  async ask([params], method) {
    let answer;
    const error = await errorOf(this.request(method, JSON.parse(params.text)).then((result) => (answer = result)));
    await this.say([JSON.stringify(error === null ? { result: answer } : { error })]);
  }

  async notify([params], method) {
    await this.client.notify(method, JSON.parse(params.text));
  }

  async wait() {
    await this.tells({ sessionUpdate: "tool_call", toolCallId: "call-wait", title: "Wait", status: "in_progress" });
    await this.session.cancelled.promise;
    await this.change("call-wait", { status: "failed" });
    return "cancelled";
  }

  async permission() {
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const toolCall = { toolCallId: "call-unseen", title: story.edit.title, status: "pending" };
    const { outcome } = await this.request(clients.session.requestPermission, { toolCall, options });
    return outcome.outcome === "selected" ? "end_turn" : "cancelled";
  }

  stop(_, reason) {
    return reason;
  }

  fail() {
    throw new Error("the model is gone");
  }
}

async function prompt({ params, client }) {
  const session = sessionOf(params);
  session.cancelled = promised();
  const [first, ...blocks] = params.prompt;
  for (const content of params.prompt) session.log.push({ sessionUpdate: "user_message_chunk", content });
  const [what, ...words] = first.text.split(" ");
  return { stopReason: (await new Turn(session, client)[what](blocks, ...words)) ?? "end_turn" };
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
  agentInfo: { name: "official", version: "2.4.0", title: "Größe" },
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: true, audio: true, embeddedContext: true },
    mcpCapabilities: { http: true },
    sessionCapabilities: {
      list: {},
      resume: {},
      close: {},
      delete: {},
      additionalDirectories: {},
      ...(methods.session.fork ? { fork: {} } : {}),
    },
    auth: { logout: {} },
    _meta: { "accord.test": { seen: true } },
  },
  authMethods: [{ id: "key", name: "With a key" }],
};

const app = acp.agent({ name: "official" });

function on(method, handler) {
  app.onRequest(method, (context) => {
    seen.push({ method, params: context.params });
    return handler(context);
  });
}

on(methods.initialize, () => initialized);
on(methods.authenticate, ({ params }) => {
  if (params.methodId !== "key") throw acp.RequestError.invalidParams({ methodId: params.methodId });
  loggedIn = true;
  return {};
});
on(methods.logout, () => {
  loggedIn = false;
  return {};
});
on(methods.session.new, ({ params: { cwd } }) => {
  if (basename(cwd) === basename(story.locked) && !loggedIn) {
    throw acp.RequestError.authRequired({ reason: "auth_required" });
  }
  const session = new Session(cwd, []);
  return { sessionId: session.id, ...session.settings };
});
if (methods.session.fork) {
  on(methods.session.fork, ({ params }) => ({ sessionId: new Session(params.cwd, [...sessionOf(params).log]).id }));
}
on(methods.session.load, async ({ params, client }) => {
  const session = sessionOf(params);
  for (const update of session.log) await client.notify(clients.session.update, { sessionId: session.id, update });
  return session.settings;
});
on(methods.session.resume, ({ params }) => sessionOf(params).settings);
on(methods.session.close, ({ params }) => {
  sessionOf(params).cancelled.settle();
  return {};
});
on(methods.session.delete, ({ params }) => {
  sessions.delete(sessionOf(params).id);
  return {};
});
on(methods.session.list, list);
on(methods.session.setMode, async ({ params, client }) => {
  const session = sessionOf(params);
  session.values.mode = params.modeId;
  await new Turn(session, client).tells({ sessionUpdate: "current_mode_update", currentModeId: params.modeId });
  return {};
});
on(methods.session.setConfigOption, ({ params }) => {
  const session = sessionOf(params);
  if (!(params.configId in session.values)) throw acp.RequestError.invalidParams({ field: "configId" });
  session.values[params.configId] = params.value;
  return { configOptions: session.settings.configOptions };
});
on(methods.session.prompt, prompt);

const asItIs = (params) => params;
app
  .onNotification(methods.session.cancel, ({ params }) => {
    seen.push({ method: methods.session.cancel, params });
    sessionOf(params).cancelled.settle();
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

await serve(acp, app);
