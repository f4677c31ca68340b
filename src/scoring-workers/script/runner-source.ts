/**
 * What runs a script inside Python, the same in both engines. Texts come in and go out, so that neither engine hands
 * objects of its own to a script. docs/spec/scoring.md#python-scripts
 */

/**
 * Defines `millrace_check(source, name)` and `millrace_run(source, name, stage, content)`. Both return JSON: an object
 * with `result`, or with `fault` (a FaultKind) and `text`. The result of a run is a text of JSON itself.
 */
export const RUNNER_SOURCE = `
import ast as _ast, importlib.util as _util, json as _json, math as _math, sys as _sys

_SAFE = 2 ** 53 - 1
_compiled = {}
_COMPILED_MAX = 32


class Tensor(list):
    """One output of a model without numpy: nested lists, with what an array would tell."""

    def __init__(self, data, dtype, shape):
        super().__init__(data if isinstance(data, list) else [data])
        self.dtype = dtype
        self.shape = tuple(shape)

    def tolist(self):
        return list(self) if self.shape else self[0]


class Outputs(list):
    """All outputs in the order of the graph; they are found by place and by name."""

    def __init__(self, names, values):
        super().__init__(values)
        self._names = names

    def __getitem__(self, key):
        return super().__getitem__(self._names.index(key) if isinstance(key, str) and key in self._names else key)

    def keys(self):
        return list(self._names)

    def items(self):
        return list(zip(self._names, self))


def _numpy():
    try:
        import numpy
        return numpy
    except ImportError:
        return None


def _outputs(content):
    numpy = _numpy()
    special = {"NaN": _math.nan, "Infinity": _math.inf, "-Infinity": -_math.inf}

    def numbers(data, kind):
        if isinstance(data, list):
            return [numbers(one, kind) for one in data]
        if kind.startswith("float"):
            return special.get(data, data) if isinstance(data, str) else data
        return int(data) if isinstance(data, str) and kind != "string" else data

    def value(output):
        kind = output.get("type")
        if kind is None:
            return output["data"]
        data = numbers(output["data"], kind)
        if numpy is None:
            return Tensor(data, kind, output["shape"])
        return numpy.array(data, dtype=object if kind == "string" else kind).reshape(output["shape"])

    outputs = _json.loads(content)
    return Outputs([output["name"] for output in outputs], [value(output) for output in outputs])


def _listed(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError("a value of the type %s is not JSON" % type(value).__name__)


def _plain(value):
    """JSON has no NaN and no infinities: they are texts, and so are whole numbers that lose digits in it."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if -_SAFE <= value <= _SAFE else str(value)
    if isinstance(value, float):
        if _math.isfinite(value):
            return value
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(_plain(key)): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return _plain(_listed(value))


def _dumped(value):
    try:
        return _json.dumps(value, allow_nan=False, default=_listed, separators=(",", ":"))
    except (ValueError, TypeError):
        return _json.dumps(_plain(value), allow_nan=False, separators=(",", ":"))


def _code(source, name):
    code = _compiled.get((source, name))
    if code is None:
        if len(_compiled) >= _COMPILED_MAX:
            _compiled.pop(next(iter(_compiled)))
        code = _compiled[(source, name)] = compile(source, name, "exec", dont_inherit=True)
    return code


def _fault(kind, text):
    return _json.dumps({"fault": kind, "text": text[:2000]})


def _described(error, name):
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    text = type(error).__name__
    try:
        said = str(error)
    except BaseException:
        said = ""
    if said:
        text += ": " + said
    return text if line is None else "%s (line %d)" % (text, line)


def millrace_run(source, name, stage, content):
    try:
        scope = {"__name__": "__millrace__", "__builtins__": __builtins__}
        exec(_code(source, name), scope)
        process = scope.get("process")
        if not callable(process):
            return _fault("model", "The script '%s' has no function process(content)." % name)
        result = process(_outputs(content) if stage == "post" else content)
        if stage == "pre" and not isinstance(result, dict):
            return _fault("input", "The script '%s' returned a value of the type %s; before a model it returns a dict from the names of the inputs to arrays." % (name, type(result).__name__))
        return _json.dumps({"result": _dumped(result)})
    except MemoryError as error:
        return _fault("memory", "The script '%s' needed more memory than it may have." % name)
    except BaseException as error:
        return _fault("input", "The script '%s' failed: %s" % (name, _described(error, name)))


def _guarded(tree):
    """Lines of imports that the script is prepared to go without."""
    lines = set()
    for node in _ast.walk(tree):
        if isinstance(node, _ast.Try) and node.handlers:
            for inner in node.body:
                for one in _ast.walk(inner):
                    if isinstance(one, (_ast.Import, _ast.ImportFrom)):
                        lines.add(one.lineno)
    return lines


def _imported(tree):
    guarded = _guarded(tree)
    for node in _ast.walk(tree):
        if getattr(node, "lineno", None) in guarded:
            continue
        if isinstance(node, _ast.Import):
            for alias in node.names:
                yield alias.name.split(".")[0]
        elif isinstance(node, _ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


def _is_there(module):
    if module in _sys.builtin_module_names:
        return True
    try:
        return _util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def millrace_check(source, name):
    try:
        tree = _ast.parse(source, name)
        compile(source, name, "exec", dont_inherit=True)
    except MemoryError:
        return _fault("model", "the script is nested too deeply")
    except SyntaxError as error:
        return _fault("model", "line %s: %s" % (error.lineno, error.msg))
    except (ValueError, RecursionError) as error:
        return _fault("model", str(error))
    functions = [one for one in tree.body if isinstance(one, (_ast.FunctionDef, _ast.Assign, _ast.Import, _ast.ImportFrom))]
    names = set()
    for one in functions:
        if isinstance(one, _ast.FunctionDef):
            names.add(one.name)
        elif isinstance(one, _ast.Assign):
            names.update(target.id for target in one.targets if isinstance(target, _ast.Name))
        else:
            names.update(alias.asname or alias.name for alias in one.names)
    if "process" not in names:
        return _fault("model", "the script has no function process(content)")
    missing = sorted({module for module in _imported(tree) if not _is_there(module)})
    return _json.dumps({"result": missing})
`;
