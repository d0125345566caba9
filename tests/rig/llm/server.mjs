// An OpenAI-compatible chat endpoint before a small model: node server.mjs MODULES MODEL PORT
import http from "node:http";
import path from "node:path";
import {pathToFileURL} from "node:url";

const [modules, modelPath, port] = process.argv.slice(2);
const longest = 60; // tokens of an answer: it need not be good, and the machine may be busy
const entry = pathToFileURL(path.join(modules, "node-llama-cpp/dist/index.js"));
const {getLlama, LlamaChatSession, LlamaLogLevel} = await import(entry);
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath});
const context = await model.createContext({contextSize: 4096, threads: 1});
const sequence = context.getSequence();

async function answer({messages, max_tokens, temperature, seed}) {
  const system = messages.filter((one) => one.role === "system").map((one) => one.content).join("\n");
  const turns = messages.filter((one) => one.role !== "system");
  const session = new LlamaChatSession({contextSequence: sequence, systemPrompt: system});
  const history = session.getChatHistory();
  for (const one of turns.slice(0, -1)) {
    history.push(one.role === "user" ? {type: "user", text: one.content} : {type: "model", response: [one.content]});
  }
  session.setChatHistory(history);
  const content = await session.prompt(turns.at(-1).content, {maxTokens: Math.min(max_tokens, longest), temperature, seed});
  session.dispose({disposeSequence: false});
  return content;
}

let last = Promise.resolve();
const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    last = last.then(async () => {
      let status = 200, plain;
      try {
        const body = JSON.parse(Buffer.concat(parts));
        const content = await answer(body);
        const choice = {index: 0, message: {role: "assistant", content}, finish_reason: "stop"};
        plain = {object: "chat.completion", model: body.model, choices: [choice]};
      } catch (error) {
        status = 400;
        plain = {error: {message: String(error)}};
      }
      response.writeHead(status, {"Content-Type": "application/json"}).end(JSON.stringify(plain));
    });
  });
});
server.listen(Number(port), "127.0.0.1");
