# For bash, in the directory of the clone on the machine of the server: . docs/guide/shell.sh
# It logs in as the administrator of the first tenant, over the control socket of the server, for an hour.

# The command line.
millrace() { node bin/millrace.mjs "$@"; }

# A member of the JSON on standard input, for instance: field .managedObject.id. Where there is none, the text goes to standard error.
field() {
  node -e '
    const text = fs.readFileSync(0, "utf8");
    let value;
    try { value = eval("JSON.parse(text)" + process.argv[1]); } catch { /* told below */ }
    if (value === undefined) { process.stderr.write(`there is no ${process.argv[1]} in: ${text}\n`); process.exit(1); }
    console.log(value);' "$1"
}

# A request as the administrator: api <path> [flags of curl]. A body is JSON unless a flag says what else it is.
api() {
  local type=(-H 'Content-Type: application/json')
  [[ "${*:2}" != *Content-Type:* ]] || type=()
  curl -sS -H "Authorization: Bearer $TOKEN" "${type[@]}" -H 'Accept: application/json' \
    "${@:2}" "${MILLRACE_URL:-http://localhost:8080}$1"
}

TOKEN=$(millrace token create)
