# For bash, in the directory of the clone on the machine of the server: . docs/guide/shell.sh
# It logs in as the administrator of the first tenant, over the control socket of the server, for an hour.

# The command line.
millrace() { node bin/millrace.mjs "$@"; }

# A member of the JSON on standard input, for instance: field .managedObject.id
field() { node -pe "JSON.parse(fs.readFileSync(0))$1"; }

# A request as the administrator: api <path> [flags of curl]
api() {
  curl -sS -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'Accept: application/json' \
    "${@:2}" "${MILLRACE_URL:-http://localhost:8080}$1"
}

TOKEN=$(millrace token create)
