// A client of the TypeScript SDK for version 2, the draft. It starts the agent in its arguments, prompts it with PROMPT,
// and prints every update with the end of the turn as JSON. With CANCEL=1 it cancels the first terminal that can be.
// ACP_SDK names the package's directory.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const acp = await import(`${process.env.ACP_SDK}/dist/v2/stable/acp.js`);
const { methods } = acp;
const [program, ...args] = process.argv.slice(2);
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });

const updates = [];
let context, cancelled;
let finish;
const over = new Promise((resolve) => (finish = resolve));

const client = acp
  .client({ name: "draft-client" })
  .onRequest(methods.client.session.requestPermission, (ctx) => ({
    outcome: { outcome: "selected", optionId: ctx.params.options[0].optionId },
  }))
  .onNotification(methods.client.session.update, async (ctx) => {
    const { sessionId, update } = ctx.params;
    updates.push(update);
    if (process.env.CANCEL && update.sessionUpdate === "terminal_output_chunk" && cancelled === undefined) {
      const at = { sessionId, terminalId: update.terminalId };
      cancelled = context.request(methods.agent.terminal.cancel, at);
      await cancelled;
    }
    if (update.sessionUpdate === "state_update" && update.state === "idle") finish(sessionId);
  });

const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await client.connectWith(stream, async (ctx) => {
  context = ctx;
  const info = { name: "draft-client", version: "1" };
  const hello = await ctx.request(methods.agent.initialize, { protocolVersion: 2, info, capabilities: {} });
  const { sessionId } = await ctx.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  const prompt = [{ type: "text", text: process.env.PROMPT }];
  await ctx.request(methods.agent.session.prompt, { sessionId, prompt });
  await over;
  const [{ terminalId }] = updates.filter((each) => each.sessionUpdate === "terminal_update");
  let late;
  try {
    late = await ctx.request(methods.agent.terminal.cancel, { sessionId, terminalId });
  } catch (error) {
    late = error.code;
  }
  console.log(JSON.stringify({ hello, updates, late }));
});
agent.stdin.end();
