# Two stages: the first has the compiler, the second only what runs.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY bin bin
COPY src src
COPY bench bench
COPY web web
# Of the HTTP library's binaries only that for this Node stays, of onnxruntime's only those for this machine, of LMDB's the one for every Node.
RUN node bin/build.mjs \
 && find dist/native -type f ! -name "*_$(node -p process.versions.modules).node" -delete \
 && (cd node_modules && rm -r esbuild @esbuild lucide leaflet uplot world-atlas uWebSockets.js) \
 && find node_modules/onnxruntime-node/bin/napi-v6 -mindepth 2 -maxdepth 2 -type d ! -path "*/linux/$(node -p process.arch)" -exec rm -r {} + \
 && find node_modules/@lmdb -type f -name '*.node' ! -name '*.napi.glibc.node' -delete \
 && find node_modules dist/src -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

# The base of node's own image, with its program alone: no npm, yarn and headers.
FROM debian:bookworm-slim
ENV NODE_ENV=production \
    MILLRACE_DATA=/data \
    MILLRACE_LOG_FORMAT=json
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home --shell /usr/sbin/nologin node \
 && mkdir /data && chown node:node /data
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist/src dist/src
COPY --from=build /app/dist/native dist/native
COPY --from=build /app/dist/web dist/web
COPY bin/millrace.mjs bin/millrace.mjs
COPY docs/reference/limits.md docs/reference/limits.md
COPY LICENSE ./
USER node
VOLUME /data
EXPOSE 8080 8443 1883 8883
# The server needs 0.1 to 0.4 s for its engine and longer for a full journal.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.MILLRACE_HTTP_PORT || 8080}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The server drains and flushes within 5 s of SIGTERM; node runs as the first process and gets the signal itself.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "bin/millrace.mjs"]
CMD ["serve"]
