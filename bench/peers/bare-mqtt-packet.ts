/**
 * A server that parses with mqtt-packet and only acknowledges: what Node can do with a packet if it does nothing with
 * it.
 */
import { createServer } from 'node:net';
import { parser as createParser } from 'mqtt-packet';

const CONNACK = Buffer.from([0x20, 2, 0, 0]);
const PINGRESP = Buffer.from([0xd0, 0]);

const server = createServer({ noDelay: true }, (socket) => {
  const parser = createParser();
  let acknowledgements: number[] = [];
  parser.on('packet', (packet) => {
    if (packet.cmd === 'publish') {
      if (packet.qos === 1) acknowledgements.push(packet.messageId!);
    } else if (packet.cmd === 'connect') socket.write(CONNACK);
    else if (packet.cmd === 'pingreq') socket.write(PINGRESP);
    else if (packet.cmd === 'disconnect') socket.end();
  });
  parser.on('error', () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    parser.parse(chunk);
    if (acknowledgements.length === 0) return;
    const bytes = Buffer.allocUnsafe(acknowledgements.length * 4);
    for (let index = 0; index < acknowledgements.length; index++) {
      bytes.writeUInt16BE(0x4002, index * 4);
      bytes.writeUInt16BE(acknowledgements[index]!, index * 4 + 2);
    }
    acknowledgements = [];
    socket.write(bytes);
  });
});

server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 }, () => process.send?.('listening'));
process.on('disconnect', () => process.exit(0));
