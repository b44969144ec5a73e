import json
from dataclasses import asdict

import jsonschema
import pytest

from interstellar.dashboard.openapi import describe_interface, schema_of
from interstellar.dashboard.questions import (
    Link,
    LinkQuestion,
    Links,
    Partner,
    PartnerQuestion,
    Partners,
    Refusal,
    Way,
)
from interstellar.records.json_files import to_plain

LINKS = Links(
    query=LinkQuestion(subject="a", relation="r"),
    answers=(
        Link(entity="b", label="B", rank=1, score=1.5, probability=0.5, known=False),
        Link(entity="c", label="C", rank=2, score=-1.0, probability=None, known=True),
    ),
    temperature=None,
)
PARTNERS = Partners(
    query=PartnerQuestion(target="a"),
    answers=(Partner(entity="b", label="B", rank=1, score=1.0, known=True),),
)


@pytest.mark.parametrize("answers", [LINKS, PARTNERS, Refusal(error="no")])
def test_a_schema_describes_the_value_it_was_made_from(answers: Links | Partners | Refusal) -> None:
    schema = schema_of(type(answers))
    plain = to_plain(asdict(answers))

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(plain, schema)
    assert isinstance(plain, dict)
    for name in plain:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(plain | {name: {"other": 1}}, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in plain.items() if k != name}, schema)


def test_the_interface_of_links_says_what_can_be_given() -> None:
    described = describe_interface(Way.PREDICT, "mine", "1.2")
    operation = described["paths"]["/predict"]["get"]
    parameters = {each["name"]: each for each in operation["parameters"]}

    assert list(parameters) == ["relation", "subject", "object", "k", "with_known"]
    assert [name for name, each in parameters.items() if each["required"]] == ["relation"]
    assert parameters["subject"]["schema"] == {"type": "string"}
    assert parameters["k"]["schema"] == {"type": "integer", "default": 10}
    assert described["info"] == {"title": "interstellar: mine", "version": "1.2"}
    assert set(operation["responses"]) == {"200", "400", "503"}


def test_the_interface_of_partners_names_the_choices() -> None:
    described = describe_interface(Way.ALIGN, "mine", "1.2")
    [decode] = [
        each
        for each in described["paths"]["/align"]["get"]["parameters"]
        if each["name"] == "decode"
    ]

    assert decode["schema"] == {
        "type": "string",
        "enum": ["cosine", "csls", "sinkhorn"],
        "default": "sinkhorn",
    }
    assert json.loads(json.dumps(described)) == described
