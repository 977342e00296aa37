// A client made with the official TypeScript SDK, v2. Starts the agent named by its arguments, talks with it about
// everything, and writes what it saw to stdout as one JSON object.
import * as acp from "@agentclientprotocol/sdk/experimental/v2";
import { errorOf, Seen, start, story, text } from "./story.mjs";

const { agent: methods } = acp.methods;
const seen = new Seen();
let chooses = "yes";

const app = acp
  .client({ name: "official" })
  .onNotification(acp.methods.client.session.update, ({ params }) => seen.note("session/update", params))
  .onRequest(acp.methods.client.session.requestPermission, async ({ params, signal }) => {
    seen.note("session/request_permission", params);
    if (chooses === null) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { outcome: { outcome: "cancelled" } };
    }
    return { outcome: { outcome: "selected", optionId: chooses } };
  })
  .onRequest(acp.methods.client.elicitation.create, ({ params }) => {
    seen.note("elicitation/create", params);
    return { action: "accept", content: { [story.question.field]: story.question.answer } };
  });

async function converse(agent) {
  const report = {};
  report.initialize = await agent.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    info: { name: "official", version: "2.4.0" },
    capabilities: { elicitation: { form: {} } },
  });
  const locked = { cwd: story.locked };
  report.errors = {
    locked: await errorOf(agent.request(methods.session.new, locked)),
    relative: await errorOf(agent.request(methods.session.new, { cwd: "relative" })),
    method: await errorOf(agent.request("_accord/nothing", {})),
    params: await errorOf(agent.request("session/prompt", { sessionId: 1 })),
    session: await errorOf(agent.request(methods.session.prompt, { sessionId: "none", prompt: [text("story")] })),
  };
  await agent.request(methods.auth.login, { methodId: "key" });
  await agent.request(methods.session.new, locked);
  const { sessionId, ...opened } = await agent.request(methods.session.new, { cwd: story.cwd });
  report.opened = opened;
  const update = (sessionUpdate, members = {}) => seen.update(sessionId, { sessionUpdate, ...members });
  const taken = () => seen.taken(sessionId);
  await update("available_commands_update");
  report.announced = taken();

  // A turn ends with the idle state; what was seen is in the order of the wire.
  const answered = (...texts) => agent.request(methods.session.prompt, { sessionId, prompt: texts.map(text) });
  const prompt = async (...texts) => {
    const { messageId } = await answered(...texts);
    await update("state_update", { state: "idle" });
    return { messageId, updates: taken() };
  };
  report.story = await prompt("story");

  chooses = "no";
  report.afterRejection = (await prompt("story")).updates;

  const big = "größe 🐘 ".repeat(300000);
  const echoed = (await prompt("echo", big)).updates;
  const pieces = echoed.filter((each) => each.sessionUpdate === "agent_message_chunk");
  report.echoed = pieces.map(({ content }) => content.text).join("") === big;

  const many = (await prompt("many 200")).updates;
  report.many = many.filter(({ content }) => content?.text).map(({ content }) => content.text).join("");

  await answered("wait");
  await update("tool_call_update");
  await agent.notify(methods.session.cancel, { sessionId });
  await update("state_update", { state: "idle" });
  report.cancelled = taken();

  chooses = null;
  await answered("permission");
  await seen.until((what) => what === "session/request_permission");
  await agent.notify(methods.session.cancel, { sessionId });
  await update("state_update", { state: "idle" });
  report.cancelledQuestion = taken();

  report.refused = (await prompt("refuse")).updates.at(-1);
  report.failed = (await prompt("fail")).updates.at(-1);
  const unknown = (await prompt("unknown")).updates;
  report.unknown = unknown.find((each) => each.sessionUpdate === "agent_message_chunk").content.text;

  const option = { sessionId, configId: "mode", type: "id", value: story.mode.id };
  report.options = (await agent.request(methods.session.setConfigOption, option)).configOptions;
  await update("config_option_update");
  const web = { sessionId, configId: "web", type: "boolean", value: true };
  report.switched = (await agent.request(methods.session.setConfigOption, web)).configOptions;
  taken();

  const place = { sessionId, cwd: story.cwd };
  await agent.request(methods.session.resume, { ...place, replayFrom: { type: "start" } });
  await update("state_update");
  report.loaded = taken();
  await agent.request(methods.session.resume, place);
  await update("state_update");
  report.resumed = taken();
  report.list = await agent.request(methods.session.list, {});
  report.closed = await agent.request(methods.session.close, { sessionId });
  return report;
}

const { streams, end } = start(process.argv.slice(2));
const report = await app.connectWith(acp.ndJsonStream(...streams), converse);
report.exitCode = await end();
process.stdout.write(JSON.stringify(report));
