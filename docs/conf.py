"""How the manual is built."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "interstellar"
extensions = ["myst_parser", "sphinx.ext.autodoc", "reference_pages"]
html_theme = "furo"
html_title = "interstellar"
exclude_patterns = ["_build"]
default_role = "literal"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 90
python_use_unqualified_type_names = True
