// The official TypeScript SDK, from the folder into which `make node-peers` installs it, and what both programs share.
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";

const { resolve } = createRequire(new URL("../../tests/interop/typescript/package.json", import.meta.url));

// Parts of the SDK and the packages beside it.
export const load = (name) => import(resolve(name));
export const acp = await import(resolve("@agentclientprotocol/sdk"));
export const text = (text) => ({ type: "text", text });
export const streamOf = (output, input) => acp.ndJsonStream(Writable.toWeb(output), Readable.toWeb(input));
