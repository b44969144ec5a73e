"""Writes src/interstellar/data/geography.tsv from the PyPI package `countryinfo` (MIT).

Run it as `python scripts/build_geography.py`; the same version of the package gives the
same file. Only facts are taken: names, ISO codes, land borders, regions and subregions.
"""

import json
import re
from pathlib import Path
from typing import Any, TypeAlias

import countryinfo

TARGET = Path(__file__).parents[1] / "src" / "interstellar" / "data" / "geography.tsv"

Fact: TypeAlias = tuple[str, str, str]
Entry: TypeAlias = dict[str, Any]

FORMER_COUNTRIES = frozenset({"ANT", "SCG"})  # Netherlands Antilles, Serbia and Montenegro

PLAIN_NAMES = {"VAT": "vatican_city"}  # the package says "Holy See (Vatican City State)"

DIVIDED_SUBREGIONS = frozenset({"Sub-Saharan Africa", "Latin America and the Caribbean"})
"""Where the package's `intermediateregion` is the subregion of the United Nations."""

ONE_SIDED_BORDERS = {
    # Listed by one side only in countryinfo 1.0.1, but there on a map:
    ("IND", "MMR"): True,
    ("IRQ", "KWT"): True,
    ("NPL", "CHN"): True,
    ("PSE", "EGY"): True,
    ("PSE", "ISR"): True,
    ("PSE", "JOR"): True,
    ("SDN", "TCD"): True,
    # Listed by one side, and not there, or a border of another entry:
    ("CYP", "GBR"): False,  # the bases of Akrotiri and Dhekelia
    ("IND", "AFG"): False,
    ("KWT", "IRN"): False,  # meant is Iraq
    ("MMR", "BTN"): False,  # meant is India
    ("SRB", "ALB"): False,  # Kosovo lies between
    ("SUR", "FRA"): False,  # French Guiana is an entry of its own
    ("TCD", "SSD"): False,  # meant is Sudan
}


def main() -> None:
    """Write the file and say what is in it."""
    facts = collect_facts()
    TARGET.write_text(format_facts(facts), encoding="utf-8", newline="\n")
    print(f"{TARGET}: {len(facts)} facts from countryinfo {countryinfo.__version__}")


def collect_facts() -> list[Fact]:
    """Return every fact once, sorted."""
    entries = choose_entries(read_entries())
    facts: set[Fact] = set()
    for code, entry in entries.items():
        subregion, region = plain_name(find_subregion(entry)), plain_name(entry["region"])
        facts.add((country_name(code, entry), "locatedin", subregion))
        facts.add((subregion, "locatedin", region))
    for code, other in find_borders(entries):
        name, other_name = country_name(code, entries[code]), country_name(other, entries[other])
        facts |= {(name, "neighbor", other_name), (other_name, "neighbor", name)}
    return sorted(facts)


def format_facts(facts: list[Fact]) -> str:
    """Return the text of the file: one fact a line, tabs between."""
    return "".join("\t".join(fact) + "\n" for fact in facts)


def read_entries() -> list[Entry]:
    """Return what the package says of each country, in the order of the names."""
    folder = Path(countryinfo.__file__).parent / "data"
    entries = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return sorted(entries, key=lambda entry: str(entry["name"]))


def choose_entries(entries: list[Entry]) -> dict[str, Entry]:
    """Return one entry per ISO code, of those that exist and lie in a region.

    Some countries have two entries; the one with more borders is kept.
    """
    chosen: dict[str, Entry] = {}
    codes = {entry["ISO"]["alpha3"] for entry in entries}
    for entry in entries:
        code = entry["ISO"]["alpha3"]
        if code in FORMER_COUNTRIES or not entry["region"]:
            continue
        entry["borders"] = sorted(codes & set(entry.get("borders") or ()))
        if code not in chosen or len(entry["borders"]) > len(chosen[code]["borders"]):
            chosen[code] = entry
    return chosen


def find_borders(entries: dict[str, Entry]) -> set[tuple[str, str]]:
    """Return the pairs of codes that share a land border."""
    listed = {(code, other) for code in entries for other in entries[code]["borders"]}
    one_sided = {(code, other) for code, other in listed if (other, code) not in listed}
    unjudged = sorted(one_sided - set(ONE_SIDED_BORDERS))
    if unjudged:
        raise SystemExit(
            f"error: the borders {unjudged} are listed by one side only. "
            "Look at a map and add them to ONE_SIDED_BORDERS."
        )
    return {border for border in listed if ONE_SIDED_BORDERS.get(border, True)}


def find_subregion(entry: Entry) -> str:
    """Return the subregion of the United Nations."""
    key = "intermediateregion" if entry["subregion"] in DIVIDED_SUBREGIONS else "subregion"
    return str(entry[key])


def country_name(code: str, entry: Entry) -> str:
    """Return the name of a country as it is written in the file."""
    return PLAIN_NAMES.get(code) or plain_name(entry["name"])


def plain_name(name: str) -> str:
    """Return `Saint Martin (French part)` as `saint_martin_french_part`."""
    return re.sub(r"[^\w-]+", "_", name.lower()).strip("_")


if __name__ == "__main__":
    main()
