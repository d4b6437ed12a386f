"""The tables of settings in the documentation, made from the settings themselves.

python -m hermitty.runtime.settings.markdown docs/settings.md
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

from hermitty.config import Setting, Settings, all_settings
from hermitty.runtime.settings.text import SHORT_NAMES

BEGIN = "<!-- settings: made by python -m hermitty.runtime.settings.markdown docs/settings.md -->"
END = "<!-- end of settings -->"


def with_tables(document: str) -> str:
    """Return a document with the part between the two marks made anew."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


def tables() -> str:
    """Return one table for each group, and one of the short variables."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for group, group_class in get_type_hints(Settings).items():
        yield from (f"### {group}", "", group_class.__doc__ or "", "")
        yield from ("| setting | default | meaning | may be | workspace file |", "|---|---|---|---|---|")
        for setting in all_settings().values():
            if setting.group == group:
                yield (
                    f"| `{setting.name}` | {_default(setting)} | {setting.doc.text} | {setting.allowed} "
                    f"| {_workspace(setting)} |"
                )
        yield ""
    yield from ("### Short variables", "", "| variable | setting |", "|---|---|")
    yield from (f"| `{variable}` | `{name}` |" for variable, name in SHORT_NAMES.items())


def _default(setting: Setting) -> str:
    match setting.default:
        case None:
            return "none"
        case bool(value):
            return str(value).lower()
        case int(value) | float(value):
            return f"{value:,}" if isinstance(value, int) else f"{value:g}"
        case str(value):
            return value
    return "empty"


def _workspace(setting: Setting) -> str:
    match setting.doc.workspace:
        case (least, most):
            return f"{least:,} to {most:,}"
        case True:
            return "yes"
    return "no"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
