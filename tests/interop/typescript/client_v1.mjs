// A client made with the official TypeScript SDK, v1. Starts the agent named by its arguments, talks with it about
// everything, and writes what it saw to stdout as one JSON object.
import * as acp from "@agentclientprotocol/sdk";
import { errorOf, promised, Seen, start, story, text } from "./story.mjs";

const { agent: methods } = acp.methods;
const files = new Map([[story.file.path, story.file.before]]);
const seen = new Seen();
const cancelled = promised();
let chooses = "yes";

const app = acp
  .client({ name: "official" })
  .onNotification(acp.methods.client.session.update, ({ params }) => seen.note("session/update", params))
  .onRequest(acp.methods.client.session.requestPermission, async ({ params }) => {
    seen.note("session/request_permission", params);
    if (chooses === null) {
      await cancelled.promise;
      return { outcome: { outcome: "cancelled" } };
    }
    return { outcome: { outcome: "selected", optionId: chooses } };
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
    seen.note("fs/read_text_file", params);
    return { content: files.get(params.path) };
  })
  .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
    seen.note("fs/write_text_file", params);
    files.set(params.path, params.content);
    return {};
  })
  .onRequest(acp.methods.client.terminal.create, ({ params }) => {
    seen.note("terminal/create", params);
    return { terminalId: "terminal-0" };
  })
  .onRequest(acp.methods.client.terminal.waitForExit, ({ params }) => {
    seen.note("terminal/wait_for_exit", params);
    return { exitCode: story.command.code };
  })
  .onRequest(acp.methods.client.terminal.output, ({ params }) => {
    seen.note("terminal/output", params);
    return { output: story.command.output, truncated: false, exitStatus: { exitCode: story.command.code } };
  })
  .onRequest(acp.methods.client.terminal.release, ({ params }) => {
    seen.note("terminal/release", params);
    return {};
  });

async function converse(agent) {
  const report = {};
  report.initialize = await agent.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: "official", version: "2.4.0" },
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  });
  const locked = { cwd: story.locked, mcpServers: [] };
  report.errors = {
    locked: await errorOf(agent.request(methods.session.new, locked)),
    relative: await errorOf(agent.request(methods.session.new, { cwd: "relative", mcpServers: [] })),
    method: await errorOf(agent.request("_accord/nothing", {})),
    params: await errorOf(agent.request("session/prompt", { sessionId: 1 })),
    session: await errorOf(agent.request(methods.session.prompt, { sessionId: "none", prompt: [text("story")] })),
  };
  await agent.request(methods.authenticate, { methodId: "key" });
  await agent.request(methods.session.new, locked);
  const { sessionId, ...opened } = await agent.request(methods.session.new, { cwd: story.cwd, mcpServers: [] });
  report.opened = opened;
  const prompt = (...texts) => agent.request(methods.session.prompt, { sessionId, prompt: texts.map(text) });
  const update = (sessionUpdate) => seen.update(sessionId, { sessionUpdate });
  const taken = () => seen.taken(sessionId);
  await update("available_commands_update");
  report.announced = taken();

  report.stopReason = (await prompt("story")).stopReason;
  await update("session_info_update");
  report.story = taken();
  report.file = files.get(story.file.path);

  chooses = "no";
  report.rejected = (await prompt("story")).stopReason;
  await update("session_info_update");
  report.afterRejection = taken();

  const big = "größe 🐘 ".repeat(300000);
  await prompt("echo", big);
  await update("agent_message_chunk");
  report.echoed = taken().map(({ content }) => content.text).join("") === big;

  await prompt("many 200");
  await seen.until((what, params) => params.update.content.text === "199 ");
  report.many = taken().map(({ content }) => content.text).join("");

  const waits = prompt("wait");
  await update("tool_call");
  await agent.notify(methods.session.cancel, { sessionId });
  report.cancelled = (await waits).stopReason;
  await update("tool_call_update");
  report.cancelledCall = taken().at(-1).status;

  chooses = null;
  const asks = prompt("permission");
  await seen.until((what) => what === "session/request_permission");
  await agent.notify(methods.session.cancel, { sessionId });
  cancelled.settle();
  report.cancelledQuestion = (await asks).stopReason;
  taken();

  report.refused = (await prompt("refuse")).stopReason;
  report.failed = await errorOf(prompt("fail"));
  await prompt("unknown");
  await update("agent_message_chunk");
  report.unknown = taken().at(-1).content.text;

  await agent.request(methods.session.setMode, { sessionId, modeId: story.mode.id });
  await update("current_mode_update");
  report.mode = taken()[0].currentModeId;
  const option = { sessionId, configId: "mode", value: "quick" };
  report.options = (await agent.request(methods.session.setConfigOption, option)).configOptions;
  taken();

  await agent.request(methods.session.load, { sessionId, cwd: story.cwd, mcpServers: [] });
  await update("session_info_update");
  report.loaded = taken();
  report.list = await agent.request(methods.session.list, {});
  return report;
}

const { streams, end } = start(process.argv.slice(2));
const report = await app.connectWith(acp.ndJsonStream(...streams), converse);
report.exitCode = await end();
process.stdout.write(JSON.stringify(report));
