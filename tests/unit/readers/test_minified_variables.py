"""Original names of variables, by the functions of a minified script."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ingest.heap.read_options import ReadOptions
from ingest.progress import silent
from ingest.readers import open_source, read
from ingest.readers.v8.functions import ScriptFunctions
from ingest.readers.v8.naming import bundle_name
from ingest.readers.v8.source_map import SourceMap
from ingest.readers.v8.variables import Variables
from tests.dumps.v8 import V8Heap
from tests.unit.readers.test_source_map import source_map

if TYPE_CHECKING:
    from pathlib import Path

_MARKED = re.compile(r"<(\w+)=(\w+)>|\^")
"""A word and its original name, or where V8 sees a closure."""


def marked(text: str) -> tuple[str, dict[str, Any], list[int]]:
    """A script without its marks, its map, and the columns of its closures."""
    script, at, closures = "", 0, list[int]()
    places = list[tuple[int, int, int, int, str]]()
    for found in _MARKED.finditer(text):
        script += text[at : found.start()]
        at = found.end()
        if found[1]:
            places.append((0, len(script), 0, len(places), found[2]))
            script += found[1]
        else:
            closures.append(len(script))
    return script + text[at:], source_map(places), closures


def names(text: str, path: Path) -> dict[str, str]:
    """The original names of ``e`` and ``i`` in the scope of a script's closures."""
    script, found, closures = marked(text)
    columns = np.array(closures, np.int64)
    variables = Variables(ScriptFunctions(script), SourceMap(found, path))
    return variables.names(np.zeros_like(columns), columns, ["e", "i", "missing"])


CASES = {
    "a module has its own": (
        "var <i=cache>=1;function f^(<e=user>){<i=cache>(()=><e=user>)}",
        {"i": "cache"}),
    "a function has its own": (
        "var <i=cache>;function f(<e=user>){var <i=row>;return ^()=><i=row>+<e=user>}",
        {"i": "row", "e": "user"}),
    "arrow functions, too": (
        "var <i=cache>=1,g=<e=a>=>^()=><e=a>,h=<e=b>=>(<e=b>,()=><i=cache>+<e=b>)",
        {"i": "cache", "e": "a"}),
    "patterns declare": (
        "const {a:<e=one>,b:[<i=two>]}=x;q(^()=><e=one>+<i=two>)",
        {"e": "one", "i": "two"}),
    "loops and blocks have their own": (
        "const <e=all>=1;f(()=><e=all>);for(const <e=item> of x){y(^()=><e=item>)}",
        {"e": "item"}),
    "and leave what is around them": (
        "const <e=all>=1;f(^()=><e=all>);for(const <e=item> of x){y(()=><e=item>)}",
        {"e": "all"}),
    "var in a block may belong to the function": (
        "var <e=a>;f(()=><e=a>);function g(){if(x){var <e=b>=1;z(()=><e=b>)}y(^()=>1)}",
        {}),
    "a loop without braces is not told from its function": (
        "let <e=a>;z(()=><e=a>);for(let <e=b> of x)y(^()=><e=b>)", {}),
    "what no function within has is in no context": (
        "var <e=a>;f(()=><e=a>);function g(<e=b>){y(^()=>1)}", {"e": "a"}),
    "properties are no variables": (
        "var <e=a>=x.<e=p>,o={<e=k>:1};z(^()=><e=a>+x.<e=p>+{<e=k>:2},...<e=a>)",
        {"e": "a"}),
    "a choice ends an arrow function": (
        "var <e=a>;f(x?y=>z?1:2:<e=a>,^()=><e=a>)", {"e": "a"}),
    "texts and comments are passed over": (
        "var <e=a>='}',r=/[/}]\\/{/g,t=`}${{a:`${(1)}`}.a}{`,u=3/2/1,v=i++/2;/*{*/"
        "if(x)/}/.test(y);z(^()=><e=a>)", {"e": "a"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_names_are_those_of_the_scope(case: str, tmp_path: Path) -> None:
    text, expected = CASES[case]
    assert names(text, tmp_path) == expected


def test_functions_are_found_by_lines() -> None:
    found = ScriptFunctions(
        "const a = () => '\U0001f600' // {\nfunction b() {\n  return 1\n}\n"
    )
    places = found.places(np.array([0, 0, 2, 4, 9]), np.array([5, 20, 2, 0, 0]))

    assert places.tolist() == [5, 20, 43, -1, -1]
    script, arrow, b = found.function[found.scopes(places[:3])].tolist()
    assert (script, arrow != b) == (0, True)
    assert found.above[[arrow, b]].tolist() == [0, 0]
    with pytest.raises(ValueError, match="brackets"):
        ScriptFunctions("f(]")


def test_an_empty_script_has_no_functions(tmp_path: Path) -> None:
    found, columns = ScriptFunctions(""), np.array([-1, 0, 1])
    assert not found.may_begin(columns, columns).any()
    with pytest.raises(ValueError, match="not where the map has names"):
        Variables(found, SourceMap(marked("<e=a>")[1], tmp_path))


def test_a_script_of_another_build_names_nothing(tmp_path: Path) -> None:
    script, found, _ = marked("var <i=cache>=1;f(()=><i=cache>)")
    with pytest.raises(ValueError, match="not where the map has names"):
        Variables(ScriptFunctions(f"   ,,{script}"), SourceMap(found, tmp_path))


@pytest.mark.parametrize(
    "script", ["/srv/3/app.js", "app-BxY1_2zq.js", "app.0123456789abcdef.js"]
)
def test_bundles_of_all_builds_have_one_name(script: str) -> None:
    assert bundle_name(script) == "app.js"
    assert bundle_name("file:///a/app-settings.js") == "app-settings.js"


def bundle(folder: Path, short: str) -> Path:
    """A snapshot of a script with a variable, and the script with its map."""
    script, found, (closure,) = marked(
        f"var <{short}=sessions>=[];globalThis.f=^()=><{short}=sessions>"
    )
    heap = V8Heap()
    heap.node("synthetic", "", 0, [("element", 1, 1)])
    heap.node("object", "global", 40, [("property", "f", 4)])
    heap.node("code", "/srv/app-0123abcd.js", 16)
    heap.node("code", "f", 16, [("internal", "script_or_debug_info", 2)])
    heap.node(
        "closure", "f", 64, [("internal", "shared", 3), ("internal", "context", 5)]
    )
    variables = [("context", short, 6), ("internal", "previous", 7)]
    heap.node("object", "system / Context", 32, variables)
    heap.node("array", "", 4000)
    heap.node("hidden", "system / NativeContext", 16)
    heap.place(4, 7, 0, closure)
    folder.mkdir()
    (folder / "app.heapsnapshot").write_bytes(heap.bytes())
    (folder / "app-0123abcd.js.map").write_text(json.dumps(found))
    (folder / "app-0123abcd.js").write_text(script)
    return folder


def test_variables_of_a_module_have_original_names(tmp_path: Path) -> None:
    for short in ("i", "Ks"):
        folder = bundle(tmp_path / short, short)
        options = ReadOptions(source_map=str(folder))
        with open_source(str(folder / "app.heapsnapshot")) as source:
            graph = read(source, options, silent)
        assert "sessions" in graph.field_names
        assert short not in graph.field_names
        assert "module app.js" in graph.type_names
        assert not any("source map" in note for note in graph.notes)

        (folder / "app-0123abcd.js").unlink()
        with open_source(str(folder / "app.heapsnapshot")) as source:
            graph = read(source, options, silent)
        assert short in graph.field_names
        assert any("is not beside its source map" in note for note in graph.notes)
