"""Python values that are written in options, read without running code."""

import ast
import operator

# Of a list: far more than any model has layers, and not enough to fill the memory.
MOST_ITEMS = 1000

_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def read_literal(text: str):
    """The value of, for example, `[(128, 3)] * 3 + [(2 * 128, 3)]`.

    Raises:
        ValueError: it is more than literals, computed with, repeated and put together
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError):
        raise ValueError(
            f"is {str(text)[:100]!r}; it must be a value that can be read without running code, "
            "such as '[(128, 3)] * 3'"
        ) from None


def _value(node: ast.expr):
    if isinstance(node, (ast.List, ast.Tuple)):
        kind = list if isinstance(node, ast.List) else tuple
        return kind(_value(item) for item in node.elts)
    if isinstance(node, ast.BinOp):
        return _combined(type(node.op), _value(node.left), _value(node.right))
    return ast.literal_eval(node)


def _combined(kind: type, left, right):
    lists = [value for value in (left, right) if isinstance(value, (list, tuple))]
    numbers = [value for value in (left, right) if isinstance(value, (int, float))]
    fits = (
        len(numbers) == 2
        or kind is ast.Add
        and len(lists) == 2
        or kind is ast.Mult
        and len(lists) == len(numbers) == 1
        and len(lists[0]) * numbers[0] <= MOST_ITEMS
    )
    if not fits or kind not in _ARITHMETIC:
        raise ValueError
    return _ARITHMETIC[kind](left, right)
