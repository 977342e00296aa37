// The agent of the official TypeScript SDK. Answers, and sends as many updates as the prompt orders; payloads.py has
// the same texts for the agents in Python.
import { acp, load, streamOf, text } from "./typescript_sdk.mjs";

const { agent: methods, client: clients } = acp.methods;
const sessionId = "sess_0d9f4c1b7e";
const toolCallId = "call_0001";
const line = "The quick brown fox jumps over the lazy dog and runs home again\n";

async function takeTurn({ params, client }) {
  const [count, size, toolEvery] = params.prompt[0].text.split(" ").map(Number);
  const said = size < line.length ? line.slice(0, size) : line.repeat(size / line.length);
  for (let number = 0; number < count; number++) {
    const isToolUpdate = toolEvery > 0 && number % toolEvery === 0;
    const update = isToolUpdate
      ? { sessionUpdate: "tool_call_update", toolCallId, title: `Step ${number}`, status: "in_progress" }
      : { sessionUpdate: "agent_message_chunk", content: text(said) };
    await client.notify(clients.session.update, { sessionId: params.sessionId, update });
  }
  return { stopReason: "end_turn" };
}

async function serve(agent) {
  const { AcpServer } = await load("@agentclientprotocol/sdk/experimental/server");
  const node = await load("@agentclientprotocol/sdk/experimental/node");
  const { default: { WebSocketServer } } = await load("ws");
  const { createServer } = await import("node:http");
  const server = new AcpServer({ agent });
  const http = createServer(node.createNodeHttpHandler(server));
  http.on("upgrade", node.createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
  http.listen(0, "127.0.0.1", () => console.error(`listens on http://127.0.0.1:${http.address().port}/acp`));
}

const app = acp
  .agent({ name: "bench" })
  .onRequest(methods.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: "bench", version: String(process.pid) },
    agentCapabilities: {},
  }))
  .onRequest(methods.session.new, () => ({ sessionId }))
  .onRequest(methods.session.setMode, () => ({}))
  .onRequest(methods.session.prompt, takeTurn);

if (process.argv.includes("--http")) await serve(app);
else app.connect(streamOf(process.stdout, process.stdin));
