// A server as npm has them, without the packages: it answers, and ends at end of file.
const answers = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "node", version: "1" } },
  "tools/list": { tools: [{ name: "ping", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "pong" }] },
  ping: {},
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const result = answers[method];
  const error = { code: -32601, message: "method not found" };
  console.log(JSON.stringify(result ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error }));
});
