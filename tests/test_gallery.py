"""The gallery shows every network that has a name as the program draws it."""

import re

from interstellar.architecture.literature import NAMED, PROPAGATIONS
from tests.manual_page import DOCS, load_writer

writer = load_writer("gallery_page")


def test_the_gallery_and_its_drawings_are_up_to_date() -> None:
    drawn = {file.name: file.read_text("utf-8") for file in writer.DRAWINGS.iterdir()}

    assert writer.PAGE.read_text("utf-8") == writer.write_page(), "run `make gallery`"
    assert drawn == writer.write_drawings(), "run `make gallery`"


def test_every_name_is_a_heading_and_every_drawing_is_shown() -> None:
    page = writer.write_page()
    headings = re.findall(r"^### (.*)$", page, flags=re.MULTILINE)

    assert sorted(", ".join(headings).split(", ")) == sorted([*NAMED, *PROPAGATIONS])
    assert set(re.findall(r"drawings/(\w+\.svg)", page)) == set(writer.write_drawings())


def test_other_pages_show_drawings_that_exist() -> None:
    shown = {
        name
        for page in DOCS.glob("*.md")
        for name in re.findall(r"\(drawings/(\w+\.svg)\)", page.read_text("utf-8"))
    }

    assert shown <= set(writer.write_drawings())


def test_names_of_one_network_share_its_drawing() -> None:
    page = writer.write_page()

    assert "### PTransE-add, IPTransE\n" in page
    assert "### Interstellar-EN-FR, Interstellar-EN-FR-dense, Interstellar-EN-DE-dense\n" in page
