// The peer `ws`: what is posted goes to every viewer. Usage: node ws.js PORT
"use strict";

const http = require("http");
const { WebSocketServer } = require("ws");

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const payload = Buffer.concat(parts);
    for (const viewer of viewers.clients) viewer.send(payload, { binary: false });
    response.writeHead(200, { "Content-Length": 0 }).end();
  });
});
const viewers = new WebSocketServer({ server, perMessageDeflate: false });
server.keepAliveTimeout = 60_000;
server.listen({ host: "127.0.0.1", port: Number(process.argv[2]), backlog: 4096 });
