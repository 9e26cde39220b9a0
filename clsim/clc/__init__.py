"""OpenCL C compiler: source text in, typed intermediate form and a build log out.

`compile_source` is the whole of it for other rooms; `ir` and `types` describe what it returns.
"""

from __future__ import annotations
