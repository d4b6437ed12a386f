// An agent of the TypeScript SDK that drives all five methods of a terminal. ACP_SDK names the package's directory.
import { Readable, Writable } from "node:stream";

const acp = await import(`${process.env.ACP_SDK}/dist/v1/stable/acp.js`);
const { methods } = acp;

const agent = acp
  .agent({ name: "scripted" })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: "ts-session" }))
  .onRequest(methods.agent.session.prompt, async (ctx) => {
    const sessionId = ctx.params.sessionId;
    const calls = JSON.parse(ctx.params.prompt[0].text);
    const results = [];
    let terminalId = "";
    for (const [method, params] of calls) {
      const given = Object.fromEntries(Object.entries(params).map(([k, v]) => [k, v === "$T" ? terminalId : v]));
      try {
        const result = await ctx.client.request(method, { sessionId, ...given });
        terminalId = result?.terminalId ?? terminalId;
        results.push(result ?? {});
      } catch (error) {
        results.push({ error: error.code });
      }
    }
    await ctx.client.notify(methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: JSON.stringify(results) } },
    });
    return { stopReason: "end_turn" };
  });

agent.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
