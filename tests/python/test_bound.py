"""Every function that C++ binds takes at most 8 parameters: more belong together in an object."""

from __future__ import annotations

from widthwise import _core

MOST = 8


def bound():
    """Every bound function by name, with each of its signatures."""
    for name, found in vars(_core).items():
        members = vars(found) if isinstance(found, type) else {"": found}
        for member, function in members.items():
            function = getattr(function, "fget", None) or getattr(function, "__func__", function)
            for signature, *_ in getattr(function, "__nb_signature__", ()):
                yield f"{name}.{member}".rstrip("."), signature


def parameters(signature):
    """The names of the parameters of a signature besides self, * and /; types may hold commas in brackets."""
    depth, parts = 0, [""]
    for letter in signature[signature.index("(") :]:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if depth == 0:
            break
        if letter == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += letter
    names = [part.lstrip("(").partition(":")[0].partition("=")[0].strip() for part in parts]
    return [name for name in names if name not in ("", "self", "*", "/")]


def test_a_bound_function_has_few_parameters():
    signature = (
        r"def add(self, a: Array[dtype=int, shape=(*, 2)] = \0, *, b: dict[str, int], **columns) -> tuple[int, int]"
    )
    assert parameters(signature) == ["a", "b", "**columns"]
    counts = {name: len(parameters(signature)) for name, signature in bound()}
    assert counts["fit"] >= 6 and len(counts) > 100
    assert {name: count for name, count in counts.items() if count > MOST} == {}
