"""Python values that are written in options, read without running code."""

import ast

# Of a list: far more than any model has layers, and not enough to fill the memory.
MOST_ITEMS = 1000


def read_literal(text: str):
    """The value of, for example, `[(128, 3)] * 3 + [(256, 3)]`.

    Raises:
        ValueError: it is more than literals, repeated and put together
    """

    def value(node: ast.expr):
        if not isinstance(node, ast.BinOp):
            return ast.literal_eval(node)
        left, right = value(node.left), value(node.right)
        if isinstance(node.op, ast.Add) and isinstance(left, (list, tuple)):
            return left + right
        if isinstance(node.op, ast.Mult) and isinstance(left, (list, tuple)) and len(left) * right <= MOST_ITEMS:
            return left * right
        raise ValueError(node)

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
        raise ValueError(
            f"an option is {str(text)[:100]!r}; it must be a value that can be read without running code, "
            "such as '[(128, 3)] * 3'"
        ) from None
