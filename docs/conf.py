"""How the manual is built."""

project = "interstellar"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "interstellar"
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
