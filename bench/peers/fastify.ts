/** fastify that parses a measurement and answers 201; nothing is stored. */
import fastify from 'fastify';

const server = fastify({ logger: false, bodyLimit: 64 * 1024 * 1024 });
const parse = (
  _request: unknown,
  body: string | Buffer,
  done: (error: Error | null, value?: unknown) => void,
): void => {
  try {
    done(null, JSON.parse(body as string));
  } catch (error) {
    done(error as Error);
  }
};
server.addContentTypeParser(/^application\/vnd\.com\.nsn\.cumulocity\./, { parseAs: 'string' }, parse);
server.post('/measurement/measurements', (_request, reply) => {
  reply.code(201).send('');
});
await server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 });
process.send?.('listening');
process.on('disconnect', () => process.exit(0));
