// The peer Socket.IO: what is posted goes to every viewer. Usage: node socketio.js PORT
"use strict";

const http = require("http");
const { Server } = require("socket.io");

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    // The adapter encodes once for all. An object: JSON in a string would be escaped, and longer.
    io.emit("u", JSON.parse(Buffer.concat(parts)));
    response.writeHead(200, { "Content-Length": 0 }).end();
  });
});
const io = new Server({
  transports: ["websocket"],
  perMessageDeflate: false,
  httpCompression: false,
  serveClient: false,
});
io.attach(server);
server.keepAliveTimeout = 60_000;
server.listen({ host: "127.0.0.1", port: Number(process.argv[2]), backlog: 4096 });
