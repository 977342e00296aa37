// The agent of the official TypeScript SDK. Answers, and sends as many updates as the prompt orders; payloads.py has
// the same texts for the agents in Python.
import { acp, streamOf, text } from "./typescript_sdk.mjs";

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

acp
  .agent({ name: "bench" })
  .onRequest(methods.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: "bench", version: String(process.pid) },
    agentCapabilities: {},
  }))
  .onRequest(methods.session.new, () => ({ sessionId }))
  .onRequest(methods.session.setMode, () => ({}))
  .onRequest(methods.session.prompt, takeTurn)
  .connect(streamOf(process.stdout, process.stdin));
