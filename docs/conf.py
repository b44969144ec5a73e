"""How the manual is built."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "interstellar"
extensions = ["myst_parser", "sphinx.ext.autodoc", "reference_pages"]
html_theme = "furo"
html_title = "interstellar"
html_sidebars = {"**": ["sidebar/brand.html", "sidebar/navigation.html"]}
exclude_patterns = ["_build"]
default_role = "literal"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 90
python_use_unqualified_type_names = True


def setup(app: Sphinx) -> None:
    """Leave out the search page of Sphinx, which would take the place of our page `search`."""
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
